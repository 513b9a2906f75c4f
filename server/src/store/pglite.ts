import { setFlagsFromString } from 'node:v8'
import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { Kysely, PGliteDialect } from 'kysely'
import type { Store } from './db.ts'
import { PreparedPglite } from './prepared-pglite.ts'
import { StorableTexts } from './storable.ts'

/** WASI's numbers of errors, by which PGlite's file system names them in objects that are no errors. */
const FILE_ERRORS: Record<number, string> = {
  2: 'EACCES',
  19: 'EDQUOT',
  29: 'EIO',
  51: 'ENOSPC',
  63: 'EPERM',
  69: 'EROFS',
}

function toFileError(error: unknown): unknown {
  if (error instanceof Error || typeof error !== 'object' || error === null || !('errno' in error))
    return error
  const code = FILE_ERRORS[Number(error.errno)] ?? `error ${error.errno}`
  return Object.assign(new Error(`The files of the embedded database cannot be used (${code}).`), { code })
}

/** Of 128 MB, the default, every page is touched at the start; and the larger a process is, the more it costs to start a command. */
const BUFFERS = '16MB'
/** ANALYZE reads 300 rows for each, and everything else waits for it. So few tell what is rare from what is frequent. */
const STATISTICS = '10'

/** Of a new database: its log is copied with it, so it begins with files of 1 MB rather than 16, and grows as by default. */
const SMALL_LOG = ['--wal-segsize=1', '-c', 'max_wal_size=1GB', '-c', 'min_wal_size=2MB'] as const

/**
 * Has V8 run PGlite as it compiled it first. Else it optimizes what runs often, and some functions of PostgreSQL are so large that
 * this takes seconds of CPU and 600 MB at the start of every process, whatever the budget; statements gain a tenth by it.
 */
const NEVER_OPTIMIZE = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering'] as const

/** `directory` absent: in memory. The caller holds the directory's lock: PGlite has none and would lose rows. */
export async function openPglite(directory?: string): Promise<Store> {
  for (const flag of NEVER_OPTIMIZE) setFlagsFromString(flag)
  const pglite = await PGlite.create({
    ...(directory ? { dataDir: directory } : {}),
    extensions: { pg_trgm },
    startParams: [
      ...PGlite.defaultStartParams,
      ...['-c', `shared_buffers=${BUFFERS}`, '-c', `default_statistics_target=${STATISTICS}`],
    ],
    initDbStartParams: [...SMALL_LOG],
  }).catch((error: unknown) => {
    throw toFileError(error)
  })
  const db = new Kysely<unknown>({
    dialect: new PGliteDialect({ pglite: new PreparedPglite(pglite) }),
    plugins: [new StorableTexts()],
  })
  let closing: Promise<void> | undefined
  return {
    db,
    quick: db,
    kind: 'pglite',
    listen: (channel, onPayload) => pglite.listen(channel, onPayload),
    nameSessions: () => {},
    // In its turn: a transaction that began while the database closes would be written to files that are closed already.
    close: () =>
      (closing ??= db
        .connection()
        .execute(() => pglite.close())
        .finally(() => db.destroy())),
  }
}
