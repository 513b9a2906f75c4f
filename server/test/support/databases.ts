import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import pg from 'pg'
import { openPglite, openPostgres, type Store } from '../../src/store/db.ts'
import { openEmbedded as open } from '../../src/store/embedded.ts'
import { putEmptyDatabase } from '../../src/store/empty-database.ts'
import { forgetInstallation, foundInstallation } from '../../src/store/installation.ts'
import { migrate, SCHEMA_HASH } from '../../src/store/migrate.ts'
import { LONG } from './once.ts'
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts'
import { CACHE_DIR, temporaryDirectory } from './service.ts'

let server: Promise<PostgresServer> | undefined

/** The test run's server (`RUNYARD_TEST_POSTGRES`), else one of this file's own, stopped at its end. */
async function serverUrl(): Promise<string> {
  if (process.env.RUNYARD_TEST_POSTGRES) return process.env.RUNYARD_TEST_POSTGRES
  server ??= startPostgres()
  return (await server).url
}

async function asAdmin<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: await serverUrl() })
  await client.connect()
  return work(client).finally(() => client.end())
}

const admin = (statement: string) => asAdmin((client) => client.query(statement))

async function urlOf(name: string): Promise<string> {
  const url = new URL(await serverUrl())
  url.pathname = `/${name}`
  return url.href
}

/** A database of its own, empty; `drop` ends its connections. */
export async function createDatabase(
  template = 'template1',
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await admin(`create database ${name} template ${template}`)
  return {
    url: await urlOf(name),
    drop: async () => {
      await admin(`drop database ${name} with (force)`)
    },
  }
}

/** A database of its own with every migration: a copy, which takes a fifth of the time that they do. */
export async function createMigrated(): ReturnType<typeof createDatabase> {
  const database = await createDatabase(await migratedTemplate())
  await withStore(database.url, ({ db }) => foundInstallation(db))
  return database
}

/** Made once a server, by whichever process is the first to need it. */
const migratedTemplate = (): Promise<string> =>
  asAdmin(async (client) => {
    const name = `migrated_${SCHEMA_HASH}`
    // Held until this connection ends.
    await client.query('select pg_advisory_lock(1)')
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name])
    if (rowCount) return name
    // Under its name it is whole.
    const draft = `draft_${randomUUID().replaceAll('-', '')}`
    await client.query(`create database ${draft}`)
    await withStore(await urlOf(draft), async ({ db }) => {
      await migrate(db)
      await forgetInstallation(db)
    })
    await client.query(`alter database ${draft} rename to ${name}`)
    return name
  })

async function withStore(url: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = openPostgres({ url, max: 1 })
  await work(store).finally(() => store.close())
}

/** An embedded database, empty and migrated. */
export async function openEmbedded(directory = join(temporaryDirectory('pglite'), 'db')): Promise<Store> {
  const store = await open(directory, CACHE_DIR)
  // The one in the cache is; it cannot be had by users who may not read the cache.
  await migrate(store.db)
  return store
}

/** An embedded database before its first migration. */
export async function openUnmigrated(): Promise<Store> {
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

function onPostgres(name: string, body: (open: () => Promise<Store>) => void): void {
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
      await (await server)?.stop()
      server = undefined
    })
  })
}

async function closeAll(closers: Array<() => Promise<void>>): Promise<void> {
  for (const close of closers.reverse()) await close()
}

/** Stops the server this file started, where it did not use `onEachDatabase`. */
export async function stopTestServer(): Promise<void> {
  await (await server)?.stop()
  server = undefined
}
