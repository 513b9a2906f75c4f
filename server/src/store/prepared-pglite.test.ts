import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { openUnmigrated } from '../../test/support/databases.ts'
import type { Store } from './db.ts'

/** More often than a statement has to come to be prepared. */
const TIMES = 5

let store: Store
before(async () => {
  // Of the cache: to make one takes three seconds.
  store = await openUnmigrated()
})
after(() => store.close())
beforeEach(async () => {
  await sql`drop table if exists t`.execute(store.db)
  await sql`create table t (id int primary key, note text, data jsonb, at timestamptz, tags text[], n bigint, is_on boolean,
    bytes bytea, amount double precision)`.execute(store.db)
})

const countPrepared = async (like: string): Promise<unknown> => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int from pg_prepared_statements where statement like ${like} and name <> ''`.execute(
    store.db,
  )
  return rows[0]?.count
}

test('a statement that comes again is prepared once, and answers as the first time', async () => {
  const at = new Date('2026-03-29T01:30:00.123Z')
  const bytes = new Uint8Array([0, 255, 10])
  const add = (id: number) =>
    sql`
    insert into t values (${id}, ${id === 4 ? null : ''}, ${JSON.stringify({ text: "'" })}, ${at}, ${['a"', 'b,c']}::text[],
      ${2 ** 40}, ${false}, ${bytes}, ${0.1}) returning *`.execute(store.db)
  for (let id = 0; id < TIMES; id += 1) {
    const { rows, numAffectedRows } = await add(id)
    assert.deepEqual(rows, [
      {
        ...{ id, note: id === 4 ? null : '', data: { text: "'" }, at, tags: ['a"', 'b,c'] },
        ...{ n: 2 ** 40, is_on: false, bytes, amount: 0.1 },
      },
    ])
    assert.equal(numAffectedRows, 1n)
  }
  assert.equal(await countPrepared('%insert into t values%'), 1)
  const many = await sql`update t set note = 'changed' where id >= ${1}`.execute(store.db)
  assert.equal(many.numAffectedRows, BigInt(TIMES - 1))
})

test('a refusal leaves the session as it was, and a transaction undone', async () => {
  const add = (id: number, db = store.db) => sql`insert into t (id) values (${id})`.execute(db)
  for (let id = 0; id < TIMES; id += 1) await add(id)
  const isTaken = (error: unknown) => (error as { code?: unknown }).code === '23505'
  await assert.rejects(add(0), isTaken)
  await add(10)
  await assert.rejects(
    store.db.transaction().execute(async (trx) => {
      await add(11, trx)
      await add(0, trx)
    }),
    isTaken,
  )
  await store.db.transaction().execute((trx) => add(12, trx))
  const { rows } = await sql<{ id: number }>`select id from t where id > 9 order by id`.execute(store.db)
  assert.deepEqual(rows, [{ id: 10 }, { id: 12 }])
})

test('a table that changes is read as it is now', async () => {
  const read = async (db = store.db) => (await sql<object>`select * from t where id = ${1}`.execute(db)).rows
  await sql`insert into t (id) values (1)`.execute(store.db)
  for (let times = 0; times < TIMES; times += 1) await read()
  await sql`alter table t add column more text default 'new'`.execute(store.db)
  assert.deepEqual(
    (await read()).map((row) => 'more' in row),
    [true],
  )
  assert.equal((await store.db.transaction().execute(read)).length, 1)
})

test('what a prepared statement notifies of is heard', async () => {
  const heard: string[] = []
  const stop = await store.listen('here', (payload) => heard.push(payload))
  for (let times = 0; times < TIMES; times += 1)
    await sql`select pg_notify('here', ${String(times)})`.execute(store.db)
  await stop()
  assert.deepEqual(heard, ['0', '1', '2', '3', '4'])
})

test('what comes while the database closes is refused, and the process goes on', async () => {
  const own = await openUnmigrated()
  const ask = (times: number, db = own.db) => sql`select ${times}::int`.execute(db)
  for (let times = 0; times < TIMES; times += 1) await ask(times)
  const closing = Promise.withResolvers<void>()
  const askers = Array.from({ length: 4 }, async (_, place) => {
    for (let times = 0; ; times += 1) {
      if (place % 2 === 0) await ask(times)
      else await own.db.transaction().execute((trx) => ask(times, trx))
      if (times === TIMES) closing.resolve(own.close())
    }
  })
  const ends = await Promise.allSettled(askers)
  assert.deepEqual([...new Set(ends.map(({ status }) => status))], ['rejected'])
  await closing.promise
})
