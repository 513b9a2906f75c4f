import { sql } from 'kysely'
import { BUDGETS } from '../budgets/budgets.ts'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { StoredAttachment } from './attachments.ts'
import type { Db } from './db.ts'
import { removeInParts } from './remove-in-parts.ts'
import { json } from './storable.ts'

/** Of one principal for all runs, of which anybody can make more: rows without a file cost no quota of files. */
const { most: MOST_WAITING } = BUDGETS.prepared_attachments

/** A file that was announced, for a follow-up to come. */
export interface NewPrepared {
  attachment_id: string
  file_name: string
  mime_type: string
}

interface Place {
  run_id: string
  /** Set where a follow-up to any run of the conversation may name it. */
  conversation_id: string | null
}

/** When they expire. Throws `conflict` when too many wait already. */
export async function insertPrepared(
  db: Db,
  { run_id, conversation_id }: Place,
  { principal_id }: Pick<Actor, 'principal_id'>,
  files: readonly NewPrepared[],
): Promise<Date> {
  const added = await sql<{ expires_at: Date }>`
    insert into prepared_attachments (attachment_id, run_id, conversation_id, principal_id, file_name, mime_type, expires_at)
    select f.attachment_id, ${run_id}::uuid, ${conversation_id}::uuid, ${principal_id}::uuid, f.file_name, f.mime_type,
      date_trunc('milliseconds', now() + interval '24 hours')
    from jsonb_to_recordset(${json(files)}) f (attachment_id uuid, file_name text, mime_type text)
    where (select count(*) from prepared_attachments p where p.principal_id = ${principal_id}::uuid and p.expires_at > now()) + ${files.length}::int <= ${MOST_WAITING}::int
    returning expires_at`.execute(db)
  const [first] = added.rows
  if (first) return first.expires_at
  const detail = `attachments: at most ${MOST_WAITING} prepared attachments of one person or service account can wait. Send a follow-up with those you have, or wait until they expire.`
  throw new AppError('conflict', detail, { retryable: false })
}

const isOf = (attachment_id: string, { principal_id }: Pick<Actor, 'principal_id'>) =>
  sql`attachment_id = ${attachment_id}::uuid and principal_id = ${principal_id}::uuid and expires_at > now()`

/** The run that it was prepared for; `null`: nothing waits for this file of this principal. */
export async function findPrepared(
  db: Db,
  attachment_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<{ run_id: string } | null> {
  const found = await sql<{ run_id: string }>`
    select run_id from prepared_attachments where ${isOf(attachment_id, actor)}`.execute(db)
  return found.rows[0] ?? null
}

/** Notes its file, and returns the one that it replaces. `null`: a follow-up took the attachment meanwhile, or it expired. */
export async function storeUpload(
  db: Db,
  attachment_id: string,
  actor: Pick<Actor, 'principal_id'>,
  { blob_key, size_bytes }: Pick<StoredAttachment, 'blob_key' | 'size_bytes'>,
): Promise<{ replaced: string | null } | null> {
  const stored = await sql<{ replaced: string | null }>`
    with before as (select attachment_id, blob_key from prepared_attachments where ${isOf(attachment_id, actor)} for update)
    update prepared_attachments p set blob_key = ${blob_key}, size_bytes = ${size_bytes}::int
    from before where p.attachment_id = before.attachment_id returning before.blob_key as replaced`.execute(
    db,
  )
  return stored.rows[0] ?? null
}

export interface PreparedReference {
  attachment_id: string
  file_name?: string | undefined
}

/** Takes them out, in the order of the message, in its transaction. Throws 422 at the first that is not there or has no file. */
export async function claimPrepared(
  trx: Db,
  run_id: string,
  author: Pick<Actor, 'principal_id'>,
  references: readonly PreparedReference[],
): Promise<StoredAttachment[]> {
  if (references.length === 0) return []
  const ids = references.map(({ attachment_id }) => attachment_id)
  const { rows } = await sql<StoredAttachment>`
    delete from prepared_attachments p using runs r
    where r.run_id = ${run_id}::uuid and (p.run_id = r.run_id or p.conversation_id = r.conversation_id)
      and p.attachment_id = any(${ids}::uuid[]) and p.principal_id = ${author.principal_id}::uuid
      and p.expires_at > now() and p.blob_key is not null
    returning p.attachment_id, p.file_name, p.mime_type, p.size_bytes, p.blob_key`.execute(trx)
  const found = new Map(rows.map((row) => [row.attachment_id, row]))
  return references.map(({ attachment_id, file_name }, index) => {
    const row = found.get(attachment_id)
    // Of an id that is named twice, the second finds nothing.
    if (!found.delete(attachment_id) || !row) throw unknownAttachment(index)
    return { ...row, file_name: file_name ?? row.file_name }
  })
}

const unknownAttachment = (index: number): AppError =>
  new AppError(
    'invalid_request',
    `attachments.${index}.attachment_id: unknown_attachment. Prepare the attachment for this run, upload its file, then send it once.`,
    { status: 422 },
  )

/** Their files go with those that no row names. */
export const removeExpiredPrepared = (db: Db): Promise<void> =>
  removeInParts(db, 'prepared_attachments', sql`expires_at <= clock_timestamp()`)
