import { sql } from 'kysely'
import type { Db } from './db.ts'

/** Where rows name a file of a run; a test asks the database for others. */
export const RUN_FILES = [
  { table: 'artifacts', column: 'blob_key' },
  { table: 'attachments', column: 'blob_key' },
  { table: 'prepared_attachments', column: 'blob_key' },
  { table: 'snapshots', column: 'blob_key' },
  { table: 'snapshots', column: 'index_blob_key' },
] as const

const NAMING = [...RUN_FILES, { table: 'prepared_workspaces', column: 'blob_key' }] as const

/** Which of these keys of blobs a row names. Ask for some hundreds at once. */
export async function readNamedBlobs(db: Db, keys: readonly string[]): Promise<Set<string>> {
  if (keys.length === 0) return new Set()
  const asked = sql`any(${[...keys]}::text[])`
  const naming = NAMING.map(
    ({ table, column }) =>
      sql`select ${sql.ref(column)} as blob_key from ${sql.table(table)} where ${sql.ref(column)} = ${asked}`,
  )
  const found = await sql<{ blob_key: string }>`${sql.join(naming, sql` union all `)}`.execute(db)
  return new Set(found.rows.map((row) => row.blob_key))
}
