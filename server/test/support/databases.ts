import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { type Db, openPostgres, type Store } from '../../src/store/db.ts'
import { putEmptyDatabase } from '../../src/store/empty-database.ts'
import { forgetInstallation, foundInstallation } from '../../src/store/installation.ts'
import { migrate, SCHEMA_HASH } from '../../src/store/migrate.ts'
import { removeAtExit, temporaryDirectory } from './leftovers.ts'
import { LONG } from './once.ts'
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts'
import { CACHE_DIR } from './shared-cache.ts'

let server: Promise<PostgresServer> | undefined
let pool: pg.Pool | undefined
let template: Promise<string> | undefined
/** Databases that are in use. */
const used = new Set<string>()

export interface TestDatabase {
  url: string
  /** Ends its sessions and has it removed, which nobody waits for. */
  drop(): Promise<void>
}

/** The test run's server (`RUNYARD_TEST_POSTGRES`), else one of this process, stopped at its end at the latest. */
async function serverUrl(): Promise<string> {
  if (process.env.RUNYARD_TEST_POSTGRES) return process.env.RUNYARD_TEST_POSTGRES
  server ??= startPostgres().then((started) => {
    removeAtExit(() => started.kill())
    return started
  })
  return (await server).url
}

async function admins(): Promise<pg.Pool> {
  const connectionString = await serverUrl()
  if (!pool) {
    pool = new pg.Pool({ connectionString, max: 2, allowExitOnIdle: true })
    pool.on('error', () => {})
    removeLeftDatabases(pool).catch(() => {})
  }
  return pool
}

const admin = async (statement: string) => (await admins()).query(statement)

async function urlOf(name: string): Promise<string> {
  const url = new URL(await serverUrl())
  url.pathname = `/${name}`
  return url.href
}

/** Says whose it is, so that others can remove it when that process has gone. */
const newName = (): string => `test_${process.pid}_${randomUUID().replaceAll('-', '')}`

/** Processes may end before all that they dropped is removed, and each database takes 10 MB of memory. */
async function removeLeftDatabases(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ datname: string }>('select datname from pg_database')
  for (const { datname } of rows) {
    const pid = /^test_(\d+)_/.exec(datname)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) await dropDatabase(datname)
  }
}

const dropDatabase = (name: string) => admin(`drop database if exists ${name} with (force)`)

/** A database of its own, empty. */
export async function createDatabase(source = 'template1'): Promise<TestDatabase> {
  const name = newName()
  // A third of the processor's time that it takes to write each page to the log.
  await admin(`create database ${name} template ${source} strategy file_copy`)
  used.add(name)
  return {
    url: await urlOf(name),
    async drop() {
      used.delete(name)
      dropDatabase(name).catch(() => {})
    },
  }
}

/** A database of its own with every migration: a copy, which takes a fifth of the time that they do. */
export async function createMigrated(): Promise<TestDatabase> {
  const database = await createCopy()
  await withStore(database.url, ({ db }) => foundInstallation(db))
  return database
}

/** The same, and not an installation yet. */
async function createCopy(): Promise<TestDatabase> {
  template ??= migratedTemplate()
  return createDatabase(await template)
}

/** A database that services can be started on, one after the other. */
export interface ServiceStore {
  open(): Promise<Store>
  drop(): Promise<void>
}

/** The embedded one. */
export const storeIn = (directory: string): ServiceStore => ({
  open: () => openEmbedded(directory),
  drop: async () => {},
})

/** A new one. `directory`: of the embedded database, where PostgreSQL is not installed. */
export async function createStore(directory: string): Promise<ServiceStore> {
  if (!hasPostgres()) return storeIn(directory)
  const { url, drop } = await createCopy()
  return {
    async open() {
      const store = openPostgres({ url, max: 4 })
      await foundInstallation(store.db)
      return store
    },
    drop,
  }
}

/** Made once a server, by whichever process is the first to need it. */
async function migratedTemplate(): Promise<string> {
  const name = `migrated_${SCHEMA_HASH}`
  const client = await (await admins()).connect()
  try {
    await client.query('select pg_advisory_lock(1)')
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount) return name
    // Under its name it is whole.
    const draft = newName()
    await client.query(`create database ${draft}`)
    await withStore(await urlOf(draft), async ({ db }) => {
      await migrate(db)
      await forgetInstallation(db)
    })
    await client.query(`alter database ${draft} rename to ${name}`)
    return name
  } finally {
    await client.query('select pg_advisory_unlock(1)')
    client.release()
  }
}

async function withStore(url: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = openPostgres({ url, max: 1 })
  await work(store).finally(() => store.close())
}

/** An embedded database, empty and migrated. */
export async function openEmbedded(directory = join(temporaryDirectory('pglite'), 'db')): Promise<Store> {
  const { openEmbedded: open } = await import('../../src/store/embedded.ts')
  const store = await open(directory, CACHE_DIR)
  // The one in the cache is; it cannot be had by users who may not read the cache.
  await migrate(store.db)
  return store
}

/** An embedded database before its first migration. */
export async function openUnmigrated(): Promise<Store> {
  const { openPglite } = await import('../../src/store/pglite.ts')
  const directory = join(temporaryDirectory('pglite'), 'db')
  await putEmptyDatabase(directory, CACHE_DIR, 'unmigrated-lean', async (draft) =>
    (await openPglite(draft)).close(),
  )
  return openPglite(directory)
}

/**
 * Registers `body` for PostgreSQL, and with `--long` for PGlite as well, which is the same program: where statements are what
 * is tested, and not how they get there, or what comes back. Where there is no PostgreSQL, for PGlite.
 */
export function onEitherDatabase(name: string, body: (open: () => Promise<Store>) => void): void {
  if (LONG || !hasPostgres()) onPglite(name, body)
  onPostgres(name, body)
}

/** Registers `body` once for PGlite and once for PostgreSQL, each with a migrated store of its own. */
export function onEachDatabase(name: string, body: (open: () => Promise<Store>) => void): void {
  onPglite(name, body)
  onPostgres(name, body)
}

const hasPostgres = (): boolean => Boolean(findPostgres() || process.env.RUNYARD_TEST_POSTGRES)

function onPglite(name: string, body: (open: () => Promise<Store>) => void): void {
  describe(`${name} on PGlite`, () => {
    const closers: Array<() => Promise<void>> = []
    body(async () => {
      const store = await openEmbedded()
      closers.push(() => store.close())
      return store
    })
    // After the body's own hooks, which may still need the store.
    after(() => closeAll(closers))
  })
}

/** For what two connections do to each other, which PGlite has not. */
export function onPostgres(name: string, body: (open: () => Promise<Store>) => void): void {
  const missing = hasPostgres() ? false : 'PostgreSQL is not installed'
  describe(`${name} on PostgreSQL`, { skip: missing }, () => {
    const closers: Array<() => Promise<void>> = []
    body(async () => {
      const database = await createMigrated()
      const store = openPostgres({ url: database.url })
      closers.push(async () => {
        await store.close()
        await database.drop()
      })
      return store
    })
    after(async () => {
      await closeAll(closers)
      await stopTestServer()
    })
  })
}

/** Ends when a connection to the database waits for a row that another one has. */
export async function waitForLock(db: Db): Promise<void> {
  for (;;) {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    if (rows.length > 0) return
  }
}

async function closeAll(closers: Array<() => Promise<void>>): Promise<void> {
  for (const close of closers.reverse()) await close()
}

/** Stops the server of this process, if it has one and no test uses it. At the end of the process it would be, too. */
export async function stopTestServer(): Promise<void> {
  const started = await server
  if (!started || used.size > 0) return
  const ended = pool
  server = pool = template = undefined
  await ended?.end()
  await started.stop()
}
