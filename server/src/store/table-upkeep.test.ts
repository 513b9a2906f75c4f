import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import { openEmbedded } from '../../test/support/databases.ts'
import type { Store } from './db.ts'
import { maintainTables } from './table-upkeep.ts'

let store: Store
before(async () => {
  store = await openEmbedded()
  await sql`create table things (thing_id int, text text)`.execute(store.db)
})
after(() => store?.close())

const readPlanned = async (): Promise<number> => {
  const { rows } = await sql<{ known: number }>`
    select reltuples::int as known from pg_class where relname = 'things'`.execute(store.db)
  return rows[0]?.known ?? Number.NaN
}
const readSize = async (): Promise<number> => {
  const { rows } = await sql<{ size: number }>`select pg_relation_size('things')::int as size`.execute(
    store.db,
  )
  return rows[0]?.size ?? Number.NaN
}
const fill = () =>
  sql`insert into things select n, repeat('.', 1000) from generate_series(1, 500) n`.execute(store.db)

test('the embedded database knows how large its tables are', async () => {
  await fill()
  assert.equal(await readPlanned(), -1)
  assert.ok((await maintainTables(store)).includes('things'))
  assert.equal(await readPlanned(), 500)
  assert.deepEqual(await maintainTables(store), [], 'nothing has changed since')
})

test('the embedded database uses the space of removed rows again', async () => {
  const size = await readSize()
  for (let round = 0; round < 4; round++) {
    await sql`delete from things`.execute(store.db)
    assert.deepEqual(await maintainTables(store), ['things'])
    await fill()
    await maintainTables(store)
  }
  assert.ok((await readSize()) <= size, `${await readSize()} bytes, ${size} before`)
})
