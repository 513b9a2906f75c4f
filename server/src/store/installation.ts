import { sql } from 'kysely'
import type { Db } from './db.ts'

export async function readInstallation(db: Db): Promise<string> {
  const found = await sql<{ installation_id: string }>`select installation_id from installation`.execute(db)
  const row = found.rows[0]
  if (!row) throw new Error('The database has no installation id.')
  return row.installation_id
}
