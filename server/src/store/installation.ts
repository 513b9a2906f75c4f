import { sql } from 'kysely'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'

const OTHER_KEY =
  'RUNYARD_SECRET_KEY is another one than this installation was set up with, so what is sealed could not be opened. Give every process the same key; without the variable it is the file secret-key of the data directory. Where it is to be replaced, name the old one in RUNYARD_OLD_SECRET_KEYS.'

/** Tells this installation's sandboxes from others' on the same machine. */
export async function readInstallation(db: Db): Promise<string> {
  const found = await sql<{ installation_id: string }>`select installation_id from installation`.execute(db)
  const row = found.rows[0]
  if (!row) throw new Error('The database has no installation id.')
  return row.installation_id
}

/** Makes the database nobody's, so that copies of it can become installations of their own. */
export async function forgetInstallation(db: Db): Promise<void> {
  await sql`delete from installation`.execute(db)
}

/** Gives a copy of a database that is nobody's an id of its own. The caller is the only one who uses it. */
export async function foundInstallation(db: Db): Promise<void> {
  const { rows } = await sql<{
    made: boolean
  }>`select to_regclass('installation') is not null as made`.execute(db)
  // Else the first migration makes it, and its id.
  if (rows[0]?.made)
    await sql`insert into installation select gen_random_uuid() where not exists (select from installation)`.execute(
      db,
    )
}

/** Of the secret key that a process seals with, and those it opens what is sealed with besides. */
export interface SecretFingerprints {
  current: string
  old: readonly string[]
}

/**
 * Throws `invalid_request` when the installation works with a secret key that is none of these. The first process to ask
 * decides.
 */
export async function requireKnownSecret(db: Db, { current, old }: SecretFingerprints): Promise<void> {
  const read = () =>
    sql<{ secret_fingerprint: string | null }>`select secret_fingerprint from installation`.execute(db)
  let known = (await read()).rows[0]?.secret_fingerprint
  if (known === null) {
    await sql`update installation set secret_fingerprint = ${current} where secret_fingerprint is null`.execute(
      db,
    )
    known = (await read()).rows[0]?.secret_fingerprint
  }
  if (known !== current && !old.some((fingerprint) => fingerprint === known))
    throw new AppError('invalid_request', OTHER_KEY)
}

/**
 * The same at a start, from which on values are sealed with the current key: processes that do not know it are refused from
 * now on.
 */
export async function settleSecret(db: Db, fingerprints: SecretFingerprints): Promise<void> {
  await requireKnownSecret(db, fingerprints)
  const { current } = fingerprints
  await sql`update installation set secret_fingerprint = ${current} where secret_fingerprint <> ${current}`.execute(
    db,
  )
}
