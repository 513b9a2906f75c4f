import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { insertEnvironment } from './environments.ts'
import {
  deletePreparedWorkspace,
  insertPreparedWorkspace,
  type PreparedWorkspace,
  usePreparedWorkspace,
} from './prepared-workspaces.ts'

onEitherDatabase('prepared workspaces', (open) => {
  let db: Db
  let environment_id: string
  before(async () => {
    db = (await open()).db
    environment_id = `e${randomUUID().replaceAll('-', '').slice(0, 21)}`
    const creator_id = await addPrincipal(db)
    await insertEnvironment(db, {
      uid: environment_id,
      creator_id,
      config: { name: environment_id },
      sealed: null,
    })
  })
  const make = (key: string, more: Partial<PreparedWorkspace> = {}): PreparedWorkspace => ({
    ...{ key, environment_id, folders: ['workspace'], blob_key: `prepared/${randomUUID()}` },
    ...{ size_bytes: 10, expanded_bytes: 100, entries: 3, sha256: 'abc' },
    ...more,
  })

  test('one is found by its key, and replaced by the next of that key', async () => {
    const [one, other] = [make('key'), make('key')]
    assert.deepEqual(await insertPreparedWorkspace(db, one, 1_000), [])
    assert.deepEqual(await usePreparedWorkspace(db, 'key'), one)
    assert.equal(await usePreparedWorkspace(db, 'another'), null)
    assert.deepEqual(await insertPreparedWorkspace(db, other, 1_000), [one.blob_key])
    // The answer was lost, and it is said again.
    assert.deepEqual(await insertPreparedWorkspace(db, other, 1_000), [])
    assert.deepEqual(await usePreparedWorkspace(db, 'key'), other)
    await deletePreparedWorkspace(db, other.blob_key)
    assert.equal(await usePreparedWorkspace(db, 'key'), null)
  })

  test('beyond the limit those go that were not used for longest; one that is too large alone goes itself', async () => {
    const all = ['a', 'b', 'c'].map((key) => make(key))
    const [a, b, c] = all
    assert(a && b && c)
    for (const one of all) await insertPreparedWorkspace(db, one, 1_000)
    await usePreparedWorkspace(db, 'a')
    const d = make('d')
    assert.deepEqual((await insertPreparedWorkspace(db, d, 30)).sort(), [b.blob_key])
    const large = make('large', { size_bytes: 31 })
    const removed = await insertPreparedWorkspace(db, large, 30)
    assert(removed.includes(large.blob_key))
    assert.equal(await usePreparedWorkspace(db, 'large'), null)
  })

  test('old ones are not found, and go', async () => {
    const old = make('old')
    await insertPreparedWorkspace(db, old, 1_000)
    await sql`update prepared_workspaces set created_at = created_at - interval '25 hours' where key = 'old'`.execute(
      db,
    )
    assert.equal(await usePreparedWorkspace(db, 'old'), null)
    assert((await insertPreparedWorkspace(db, make('new'), 1_000)).includes(old.blob_key))
  })

  test('of an environment that is gone nothing is stored', async () => {
    const orphan = make('orphan', { environment_id: 'gone' })
    assert.deepEqual(await insertPreparedWorkspace(db, orphan, 1_000), [orphan.blob_key])
  })
})
