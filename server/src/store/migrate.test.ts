import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createDatabase, onEachDatabase, stopTestServer } from '../../test/support/databases.ts'
import { findPostgres } from '../../test/support/postgres-server.ts'
import { addPrincipal, addRun } from '../../test/support/stored.ts'
import { AppError } from '../contract/error.ts'
import { openPglite, openPostgres, type Store } from './db.ts'
import { readLog } from './events.ts'
import { migrate, pendingMigrations, SCHEMA_VERSION } from './migrate.ts'

const isNewer = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'operation_not_supported' && /9999_later/.test(error.detail)

async function assertMigrates(store: Store): Promise<void> {
  const { db } = store
  assert.equal(await pendingMigrations(db), SCHEMA_VERSION)
  assert.equal((await migrate(db)).length, SCHEMA_VERSION)
  assert.equal(await pendingMigrations(db), 0)
  assert.deepEqual(await migrate(db), [])
  const installation = () => sql`select installation_id from installation`.execute(db)
  const { rows } = await installation()
  assert.equal(rows.length, 1)
  await sql`insert into migrations (name, timestamp) values ('9999_later', '2099-01-01T00:00:00.000Z')`.execute(
    db,
  )
  await assert.rejects(migrate(db), isNewer)
  await assert.rejects(pendingMigrations(db), isNewer)
  assert.deepEqual((await installation()).rows, rows)
}

onEachDatabase('an upgrade', (open) => {
  test('measures the events that are there', async () => {
    const { db } = await open()
    for (const statement of [
      'alter table events drop column bytes',
      `delete from migrations where name = '0005_sizes'`,
    ])
      await sql.raw(statement).execute(db)
    const run_id = await addRun(db, await addPrincipal(db), { prompt: 'é'.repeat(1000) })
    assert.deepEqual(await migrate(db), ['0005_sizes'])
    const { rows } = await sql`
      select bytes, octet_length(data::text) as measured from events where run_id = ${run_id}`.execute(db)
    assert.equal(rows.length, 2)
    for (const row of rows as Array<{ bytes: number; measured: number }>)
      assert.equal(row.bytes, row.measured)
    assert((await readLog(db, run_id, 0, 10))?.events.length === 2)
  })
})

test('migrates PGlite once, and refuses a newer database', async () => {
  const store = await openPglite()
  await assertMigrates(store).finally(() => store.close())
})

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
describe('migrate on PostgreSQL', { skip }, () => {
  after(stopTestServer)

  test('migrates once, and refuses a newer database', async () => {
    const database = await createDatabase()
    const store = openPostgres({ url: database.url })
    await assertMigrates(store).finally(() => store.close())
    await database.drop()
  })

  test('processes that start at once migrate once', async () => {
    const database = await createDatabase()
    const stores = Array.from({ length: 5 }, () => openPostgres({ url: database.url }))
    const done = await Promise.all(stores.map((store) => migrate(store.db)))
    assert.equal(done.flat().length, SCHEMA_VERSION)
    for (const store of stores) {
      assert.equal(await pendingMigrations(store.db), 0)
      await store.close()
    }
    await database.drop()
  })
})
