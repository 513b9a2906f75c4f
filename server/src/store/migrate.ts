import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
const CLAIM = readFileSync(new URL('./claim.sql', import.meta.url), 'utf8')

const FILES = readdirSync(FOLDER)
  .sort()
  .map((file) => ({ name: file.replace(/\.sql$/, ''), text: readFileSync(new URL(file, FOLDER), 'utf8') }))

/**
 * `migrations/NNNN_name.sql`, forward only, in the order of their names; a landed one never changes. Each makes the function
 * of `claim.sql` anew, so a change of that comes with a migration.
 */
const MIGRATIONS: Record<string, Migration> = Object.fromEntries(
  FILES.map(({ name, text }) => {
    const statements = splitStatements(text)
    const up = async (db: Kysely<unknown>): Promise<void> => {
      for (const statement of [...statements, CLAIM]) await sql.raw(statement).execute(db)
    }
    return [name, { up }]
  }),
)

/** PGlite takes one statement at a time. A statement ends with a semicolon before an empty line. */
function splitStatements(text: string): string[] {
  return text.split(/;\s*\n\s*\n/).filter((statement) => /^(?!--).+/m.test(statement))
}

export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS)
export const SCHEMA_VERSION = MIGRATION_NAMES.length
/** Of all that the migrations do; another one while they are written. */
export const SCHEMA_HASH = createHash('sha256')
  .update(JSON.stringify([FILES, CLAIM]))
  .digest('hex')
  .slice(0, 12)

/**
 * Brings the database up to date, or up to the migration `last`; safe when several processes start at once (Kysely takes
 * an advisory lock). Returns the names of those that ran.
 */
export async function migrate(db: Db, last = MIGRATION_NAMES.at(-1)): Promise<string[]> {
  const applied = await refuseNewer(db)
  // Most starts find nothing to do, and Kysely would read the whole catalogue to learn whether its tables are there.
  if (last === MIGRATION_NAMES.at(-1) && applied.length === SCHEMA_VERSION) return []
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => MIGRATIONS },
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  })
  const { error, results } = await migrator.migrateTo(last ?? '')
  if (error) throw error
  return (results ?? []).filter((result) => result.status === 'Success').map((result) => result.migrationName)
}

/** How many migrations are missing. Throws when the database is newer than this code. */
export async function pendingMigrations(db: Db): Promise<number> {
  const applied = await refuseNewer(db)
  return Object.keys(MIGRATIONS).filter((name) => !applied.includes(name)).length
}

/** Those that ran, all of which this code knows. */
async function refuseNewer(db: Db): Promise<string[]> {
  const applied = await appliedMigrations(db)
  const unknown = applied.filter((name) => !(name in MIGRATIONS))
  if (unknown.length) {
    throw new AppError(
      'operation_not_supported',
      `The database was migrated by a newer version (${unknown.join(', ')}). Start that version or restore a backup.`,
    )
  }
  return applied
}

async function appliedMigrations(db: Db): Promise<string[]> {
  const table = await sql<{
    present: boolean
  }>`select to_regclass('migrations') is not null as present`.execute(db)
  if (!table.rows[0]?.present) return []
  const rows = await sql<{ name: string }>`select name from migrations order by name`.execute(db)
  return rows.rows.map((row) => row.name)
}
