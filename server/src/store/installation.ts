import { sql } from 'kysely'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'

const OTHER_KEY =
  'RUNYARD_SECRET_KEY is another one than this installation was set up with, so what is sealed could not be opened. Give every process the same key; without the variable it is the file secret-key of the data directory.'

/** Tells this installation's sandboxes from others' on the same machine. */
export async function readInstallation(db: Db): Promise<string> {
  const found = await sql<{ installation_id: string }>`select installation_id from installation`.execute(db)
  const row = found.rows[0]
  if (!row) throw new Error('The database has no installation id.')
  return row.installation_id
}

/**
 * Throws `invalid_request` when the installation works with another secret key than the one of this fingerprint. The first
 * process to ask decides.
 */
export async function requireSameSecret(db: Db, fingerprint: string): Promise<void> {
  const read = () =>
    sql<{ secret_fingerprint: string | null }>`select secret_fingerprint from installation`.execute(db)
  let known = (await read()).rows[0]?.secret_fingerprint
  if (known === null) {
    await sql`update installation set secret_fingerprint = ${fingerprint} where secret_fingerprint is null`.execute(
      db,
    )
    known = (await read()).rows[0]?.secret_fingerprint
  }
  if (known !== fingerprint) throw new AppError('invalid_request', OTHER_KEY)
}
