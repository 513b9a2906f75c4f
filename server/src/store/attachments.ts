import { sql } from 'kysely'
import { FILE_NAME_MAX_BYTES } from '../contract/run-request.ts'
import type { Db } from './db.ts'
import type { Lease } from './leases.ts'
import { json } from './storable.ts'

/** A file that came with a prompt or follow-up; its bytes are a blob. */
export interface StoredAttachment {
  attachment_id: string
  file_name: string
  mime_type: string
  size_bytes: number
  blob_key: string
}

/** Call it in a transaction that holds the run's row: each file of a run gets a path of its own. */
export async function insertAttachments(
  trx: Db,
  run_id: string,
  followup_id: string | null,
  attachments: readonly StoredAttachment[],
): Promise<void> {
  if (attachments.length === 0) return
  const found = await sql<{ path: string }>`select path from attachments where run_id = ${run_id}`.execute(
    trx,
  )
  const taken = new Set(found.rows.map(({ path }) => path))
  const placed = attachments.map((attachment) => {
    const path = freePath(attachment.file_name, taken)
    taken.add(path)
    return { ...attachment, path }
  })
  await sql`
    insert into attachments (attachment_id, run_id, followup_id, file_name, mime_type, size_bytes, blob_key, path)
    select a.attachment_id, ${run_id}::uuid, ${followup_id}::uuid, a.file_name, a.mime_type, a.size_bytes, a.blob_key, a.path
    from jsonb_to_recordset(${json(placed)})
      a (attachment_id uuid, file_name text, mime_type text, size_bytes int, blob_key text, path text)`.execute(
    trx,
  )
}

/** `attachments/report.pdf`, and `attachments/report-2.pdf` for another of that name. */
function freePath(file_name: string, taken: ReadonlySet<string>): string {
  // A long ending is none: it would leave no room for a stem.
  const [, stem = file_name, ending = ''] = /^(.+?)(\.[^.]{0,32})?$/.exec(file_name) ?? []
  for (let n = 1; ; n += 1) {
    const place = n === 1 ? file_name : cutStem(stem, `-${n}${ending}`)
    if (!taken.has(`attachments/${place}`)) return `attachments/${place}`
  }
}

/** The stem's beginning, in whole characters, that makes a file name together with what follows. */
function cutStem(stem: string, rest: string): string {
  const begin = Buffer.from(stem).subarray(0, FILE_NAME_MAX_BYTES - Buffer.byteLength(rest))
  // Decoded as a part of a stream, the bytes of a character without its end are kept back.
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(begin, { stream: true }) + rest
}

/** What came with the prompt of a run. */
export async function readPromptAttachments(db: Db, run_id: string): Promise<StoredAttachment[]> {
  const found = await sql<StoredAttachment>`
    select attachment_id, file_name, mime_type, size_bytes, blob_key from attachments
    where run_id = ${run_id} and followup_id is null order by attachment_id`.execute(db)
  return found.rows
}

export interface AwaitedAttachment {
  attachment_id: string
  file_name: string
  blob_key: string
  /** Below the workspace. */
  path: string
}

/** The run's attachments that its workspace does not hold yet, in the order they came. */
export async function readAwaitedAttachments(db: Db, run_id: string): Promise<AwaitedAttachment[]> {
  const found = await sql<AwaitedAttachment>`
    select a.attachment_id, a.file_name, a.blob_key, a.path from attachments a left join sandboxes s using (run_id)
    where a.run_id = ${run_id} and not a.attachment_id = any(coalesce(s.attachments_written, '{}'))
    order by a.attachment_id`.execute(db)
  return found.rows
}

/** Remembers that the workspace of this attempt holds it; fenced. */
export async function markAttachmentWritten(db: Db, lease: Lease, attachment_id: string): Promise<void> {
  await sql`
    update sandboxes s set attachments_written = attachments_written || ${attachment_id}::uuid
    where s.run_id = ${lease.run_id} and s.attempt = ${lease.attempt} and s.worker_id = ${lease.worker_id}
      and not ${attachment_id}::uuid = any(attachments_written)`.execute(db)
}

/** Bytes of everything a run keeps: what came with its messages, or waits for one that any run of its conversation may get, and what its agent left. */
export async function readKeptBytes(db: Db, run_id: string): Promise<number> {
  const found = await sql<{ bytes: string }>`
    select coalesce(sum(size_bytes), 0) as bytes from (
      select size_bytes from attachments where run_id = ${run_id}
      union all select p.size_bytes from runs r join runs of_conversation using (conversation_id)
        join prepared_attachments p on p.run_id = of_conversation.run_id
        where r.run_id = ${run_id} and (p.run_id = r.run_id or p.conversation_id is not null) and p.expires_at > now()
      union all select size_bytes from artifacts where run_id = ${run_id}) kept`.execute(db)
  return Number(found.rows[0]?.bytes ?? 0)
}
