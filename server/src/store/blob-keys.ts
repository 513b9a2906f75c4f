import { sql } from 'kysely'
import type { Db } from './db.ts'

/** Which of these keys of blobs a row names. Ask for some hundreds at once. */
export async function readNamedBlobs(db: Db, keys: readonly string[]): Promise<Set<string>> {
  const asked = sql`any(${[...keys]}::text[])`
  const found = await sql<{ blob_key: string }>`
    select blob_key from attachments where blob_key = ${asked}
    union all select blob_key from prepared_attachments where blob_key = ${asked}
    union all select blob_key from artifacts where blob_key = ${asked}
    union all select blob_key from snapshots where blob_key = ${asked}
    union all select blob_key from prepared_workspaces where blob_key = ${asked}`.execute(db)
  return new Set(found.rows.map((row) => row.blob_key))
}
