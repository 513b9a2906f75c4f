import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal, addWorker, holdRun, newRun } from '../../test/support/stored.ts'
import type { Db } from './db.ts'
import { releaseRun } from './leases.ts'
import { insertRun } from './new-runs.ts'
import { finishRun } from './transitions.ts'
import { countWorkers, readModels, removeOldWorkers, retireWorker, updateModels } from './workers.ts'

const model = (name: string) => ({ model_id: `acme/${name}`, provider: 'acme' })

onEitherDatabase('workers', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  test('models are those of the live workers, each once; the default is the oldest worker’s', async () => {
    assert.deepEqual(await readModels(db), { models: [], default_model_id: null })
    const none = await addWorker(db)
    const first = await addWorker(db, {
      models: { models: [model('a'), model('b')], default_model_id: 'acme/b' },
    })
    const second = await addWorker(db, {
      models: { models: [model('b'), model('c')], default_model_id: 'acme/c' },
    })
    // They may have started in the same millisecond.
    await sql`update workers set started_at = started_at - interval '1 second' where worker_id = ${first.worker_id}`.execute(
      db,
    )
    const all = [model('a'), model('b'), model('c')]
    assert.deepEqual(await readModels(db), { models: all, default_model_id: 'acme/b' })
    await updateModels(db, second.worker_id, { models: [model('d')], default_model_id: 'acme/d' })
    await retireWorker(db, first.worker_id)
    assert.deepEqual(await readModels(db), { models: [model('d')], default_model_id: 'acme/d' })
    assert.deepEqual(await countWorkers(db), { live: 2, full: 0 })
    await retireWorker(db, none.worker_id)
    await retireWorker(db, second.worker_id)
  })

  test('a pool is at capacity when no more slots are free than runs wait', async () => {
    const pool = randomUUID()
    const principal_id = await addPrincipal(db)
    const create = async () =>
      (await insertRun(db, newRun(principal_id, { pool }), null)).response.at_capacity
    assert.equal(await create(), true, 'There is no worker.')
    const worker = await addWorker(db, { pool, slots: 3 })
    assert.deepEqual([await create(), await create(), await create()], [false, false, true])
    await retireWorker(db, worker.worker_id)
    assert.equal(await create(), true)
  })

  test('rows of old lost workers go when nothing names them', async () => {
    const held = await holdRun(db)
    const [gone, young] = [await addWorker(db), await addWorker(db)]
    for (const { worker_id } of [held, gone, young]) await retireWorker(db, worker_id)
    await sql`update workers set started_at = started_at - interval '25 hours' where worker_id <> ${young.worker_id}`.execute(
      db,
    )
    const left = async () => {
      await removeOldWorkers(db)
      const rows = await sql<{ worker_id: string }>`select worker_id from workers`.execute(db)
      return new Set(rows.rows.map((row) => row.worker_id))
    }
    const rows = await left()
    assert.deepEqual(
      [held, gone, young].map(({ worker_id }) => rows.has(worker_id)),
      [true, false, true],
    )
    await finishRun(db, held, { state: 'SUCCEEDED' })
    await releaseRun(db, held)
    assert.equal((await left()).has(held.worker_id), false)
  })
})
