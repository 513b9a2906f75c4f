import { sql } from 'kysely'
import type { Db } from './db.ts'
import { json } from './storable.ts'

/** A file that came with a prompt or follow-up; its bytes are a blob. */
export interface StoredAttachment {
  attachment_id: string
  file_name: string
  mime_type: string
  size_bytes: number
  blob_key: string
}

export async function insertAttachments(
  db: Db,
  run_id: string,
  followup_id: string | null,
  attachments: readonly StoredAttachment[],
): Promise<void> {
  if (attachments.length === 0) return
  await sql`
    insert into attachments (attachment_id, run_id, followup_id, file_name, mime_type, size_bytes, blob_key)
    select a.attachment_id, ${run_id}::uuid, ${followup_id}::uuid, a.file_name, a.mime_type, a.size_bytes, a.blob_key
    from jsonb_to_recordset(${json(attachments)})
      a (attachment_id uuid, file_name text, mime_type text, size_bytes int, blob_key text)`.execute(db)
}

/** All attachments of the run so far, in the order they came. */
export async function readAttachments(db: Db, run_id: string): Promise<StoredAttachment[]> {
  const found = await sql<StoredAttachment>`
    select attachment_id, file_name, mime_type, size_bytes, blob_key from attachments
    where run_id = ${run_id} order by attachment_id`.execute(db)
  return found.rows
}

/** Bytes of everything a run keeps: what came with its messages and what its agent left. */
export async function readKeptBytes(db: Db, run_id: string): Promise<number> {
  const found = await sql<{ bytes: string }>`
    select coalesce(sum(size_bytes), 0) as bytes from (
      select size_bytes from attachments where run_id = ${run_id}
      union all select size_bytes from artifacts where run_id = ${run_id}) kept`.execute(db)
  return Number(found.rows[0]?.bytes ?? 0)
}
