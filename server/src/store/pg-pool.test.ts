import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { until } from '../../test/support/cluster.ts'
import { createDatabase, stopTestServer } from '../../test/support/databases.ts'
import { findPostgres } from '../../test/support/postgres-server.ts'
import { startSilentProxy } from '../../test/support/silent-proxy.ts'
import { type Db, openPostgres, type PostgresOptions } from './db.ts'
import { isUnavailable, toAppError } from './faults.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
/** Generous for a statement that is answered, soon over for one that is not. */
const LIMITS = { connect_ms: 2_000, statement_ms: 2_000 }

// Side by side: they mostly wait for their limits.
describe('connections to PostgreSQL', { skip, concurrency: true }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  before(async () => {
    database = await createDatabase()
  })
  after(async () => {
    await database?.drop()
    await stopTestServer()
  })

  async function withStore(
    options: Partial<PostgresOptions>,
    use: (store: ReturnType<typeof openPostgres>) => Promise<void>,
  ): Promise<void> {
    const store = openPostgres({ url: database.url, ...options })
    await use(store).finally(() => store.close())
  }

  const echo = async (db: Db, word: string) =>
    (await sql<{ word: string }>`select ${word}::text as word from pg_sleep(0.05)`.execute(db)).rows[0]?.word
  const setting = async (db: Db, name: string) =>
    (await sql<{ value: string }>`select current_setting(${name}) as value`.execute(db)).rows[0]?.value
  /** Of the session, apart from what asks. */
  const prepared = async (db: Db) =>
    (
      await sql<{ statement: string }>`
        select statement from pg_prepared_statements where statement not like '%pg_prepared%'`.execute(db)
    ).rows.map((row) => row.statement)

  test('one that says nothing is cut with the idle ones, and none of them is used again', async (t) => {
    const proxy = await startSilentProxy(database.url)
    t.after(() => proxy.close())
    await withStore({ url: proxy.url, max: 4, limits: LIMITS }, async ({ db }) => {
      const all = () => Promise.all(['a', 'b', 'c', 'd'].map((word) => echo(db, word)))
      assert.deepEqual(await all(), ['a', 'b', 'c', 'd'])
      proxy.silence()
      await assert.rejects(echo(db, 'lost'), isUnavailable)
      proxy.heal()
      assert.deepEqual(await all(), ['a', 'b', 'c', 'd'])
    })
  })

  test('a transaction whose connection falls silent is over, and the next one is not', async (t) => {
    const proxy = await startSilentProxy(database.url)
    t.after(() => proxy.close())
    await withStore({ url: proxy.url, max: 1, limits: LIMITS }, async ({ db }) => {
      const silenced = db.transaction().execute(async (trx) => {
        await echo(trx, 'begun')
        proxy.silence()
        await echo(trx, 'lost')
      })
      await assert.rejects(silenced, isUnavailable)
      proxy.heal()
      assert.equal(await db.transaction().execute((trx) => echo(trx, 'again')), 'again')
    })
  })

  test('one that only listens notices silence by itself', async (t) => {
    const proxy = await startSilentProxy(database.url)
    t.after(() => proxy.close())
    await withStore({ url: proxy.url }, async (store) => {
      const heard = new Set<string>()
      const stop = await store.listen('news', (payload) => heard.add(payload))
      proxy.silence()
      proxy.heal()
      await withStore({}, async ({ db }) => {
        await until('news to be heard again', async () => {
          await sql`select pg_notify('news', 'again')`.execute(db)
          return heard.has('again')
        })
      })
      await stop()
    })
  })

  test('closing does not wait for a connection that says nothing', async (t) => {
    const proxy = await startSilentProxy(database.url)
    t.after(() => proxy.close())
    const store = openPostgres({ url: proxy.url })
    await Promise.all([echo(store.db, 'one'), echo(store.db, 'two')])
    proxy.silence()
    const left = assert.rejects(echo(store.db, 'lost'), isUnavailable)
    // So that it is on its way.
    await setImmediate()
    await store.close()
    await left
  })

  test('each session limits its statements, locks and idle transactions, unless the URL says otherwise', async () => {
    await withStore({}, async ({ db }) => {
      const names = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']
      const values = await Promise.all(names.map((name) => setting(db, name)))
      assert.deepEqual(values, ['8s', '5s', '4s'])
    })
    const url = `${database.url}?options=${encodeURIComponent('-c statement_timeout=1234 -c geqo=off')}`
    await withStore({ url }, async ({ db }) => {
      assert.equal(await setting(db, 'statement_timeout'), '1234ms')
      assert.equal(await setting(db, 'geqo'), 'off')
      assert.equal(await setting(db, 'lock_timeout'), '5s')
      await assert.rejects(sql`select pg_sleep(60)`.execute(db), (error) => {
        assert.equal(toAppError(error).code, 'resource_unavailable')
        return true
      })
    })
  })

  test('sessions take the name they are given', async () => {
    await withStore({}, async (store) => {
      assert.equal(await setting(store.db, 'application_name'), 'runyard')
      store.nameSessions('runyard-worker 1')
      assert.equal(await setting(store.db, 'application_name'), 'runyard-worker 1')
    })
  })

  test('what runs often is prepared once, unless the URL says otherwise', async () => {
    const repeat = async (db: Db) => {
      for (const word of ['a', 'b', 'c', 'd', 'e']) assert.equal(await echo(db, word), word)
      return prepared(db)
    }
    await withStore({ max: 1 }, async ({ db }) => {
      assert.deepEqual(await repeat(db), ['select $1::text as word from pg_sleep(0.05)'])
    })
    await withStore({ max: 1, url: `${database.url}?prepare=false` }, async ({ db }) => {
      assert.deepEqual(await repeat(db), [])
    })
  })

  test('a table that changed under a prepared statement costs nothing, and a transaction one more try', async () => {
    await withStore({ max: 1 }, async ({ db }) => {
      await sql`create table changing as select 1 as a`.execute(db)
      const read = async (on: Db) => (await sql`select * from changing where a = ${1}::int`.execute(on)).rows
      for (let i = 0; i < 4; i++) assert.deepEqual(await read(db), [{ a: 1 }])
      await sql`alter table changing add b int default 2`.execute(db)
      assert.deepEqual(await read(db), [{ a: 1, b: 2 }])
      for (let i = 0; i < 4; i++) await read(db)
      await sql`alter table changing add c int default 3`.execute(db)
      const inside = () => db.transaction().execute((trx) => read(trx))
      await assert.rejects(inside(), isUnavailable)
      assert.deepEqual(await inside(), [{ a: 1, b: 2, c: 3 }])
    })
  })
})

test('of what is not there only a socket means that the database is away', async () => {
  const store = openPostgres({ url: 'postgres://user@localhost/x?host=/nowhere' })
  const connecting = await sql`select 1`.execute(store.db).catch((error: unknown) => error)
  await store.close()
  const reading = await readFile('/nowhere/at-all').catch((error: unknown) => error)
  assert.deepEqual(
    [toAppError(connecting).code, toAppError(reading).code],
    ['resource_unavailable', 'internal_error'],
  )
})
