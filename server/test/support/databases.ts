import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import pg from 'pg'
import { openPglite, openPostgres, type Store } from '../../src/store/db.ts'
import { openEmbedded as open } from '../../src/store/embedded.ts'
import { putEmptyDatabase } from '../../src/store/empty-database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts'
import { CACHE_DIR, temporaryDirectory } from './service.ts'

let server: Promise<PostgresServer> | undefined

/** The test run's server (`RUNYARD_TEST_POSTGRES`), else one of this file's own, stopped at its end. */
async function serverUrl(): Promise<string> {
  if (process.env.RUNYARD_TEST_POSTGRES) return process.env.RUNYARD_TEST_POSTGRES
  server ??= startPostgres()
  return (await server).url
}

async function admin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: await serverUrl() })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** A database of its own, empty; `drop` ends its connections. */
export async function createDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await admin(`create database ${name}`)
  const url = new URL(await serverUrl())
  url.pathname = `/${name}`
  return { url: url.href, drop: () => admin(`drop database ${name} with (force)`) }
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

/** Registers `body` once for PGlite and once for PostgreSQL, each with a migrated store of its own. */
export function onEachDatabase(name: string, body: (open: () => Promise<Store>) => void): void {
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
  const missing = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
  describe(`${name} on PostgreSQL`, { skip: missing }, () => {
    const closers: Array<() => Promise<void>> = []
    body(async () => {
      const database = await createDatabase()
      const store = openPostgres({ url: database.url })
      closers.push(async () => {
        await store.close()
        await database.drop()
      })
      await migrate(store.db)
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
