import { sql } from 'kysely'
import type { Db } from './db.ts'

/** The tables whose rows name a file of a run; a test asks the database for others. */
export const RUN_FILES = ['artifacts', 'attachments', 'prepared_attachments', 'snapshots'] as const

const NAMING = [...RUN_FILES, 'prepared_workspaces'] as const

/** Which of these keys of blobs a row names. Ask for some hundreds at once. */
export async function readNamedBlobs(db: Db, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const asked = sql`any(${[...keys]}::text[])`
  const naming = NAMING.map(
    (table) => sql`select blob_key from ${sql.table(table)} where blob_key = ${asked}`,
  )
  const found = await sql<{ blob_key: string }>`${sql.join(naming, sql` union all `)}`.execute(db)
  return new Set(found.rows.map((row) => row.blob_key))
}
