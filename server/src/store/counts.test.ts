import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { addPrincipal, addRun, cancel, holdRun } from '../../test/support/stored.ts'
import { type Counts, readCounts } from './counts.ts'
import type { Db } from './db.ts'
import { finishRun, requeueLost } from './transitions.ts'
import { markDelivered, markFailed, takeDeliveries } from './webhook-deliveries.ts'
import { insertWebhook } from './webhooks.ts'

onEitherDatabase('counts', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  test('nothing is nothing', async () => {
    assert.deepEqual(await readCounts(db), {
      open: { QUEUED: 0, CLAIMED: 0, INPROGRESS: 0, BLOCKED: 0 },
      oldest_seconds: 0,
      workers: { ready: 0, draining: 0, disk_full: 0 },
      slots: { all: 0, busy: 0 },
      deliveries_waiting: 0,
      ...{ created: 0, attempts: 0, lost: 0, delivered: 0, undelivered: 0 },
      ended: { SUCCEEDED: 0, FAILED: 0, ERROR: 0, CANCELLED: 0 },
    } satisfies Counts)
  })

  test('claims, lost workers and every way to end are counted', async () => {
    const leases = [await holdRun(db), await holdRun(db), await holdRun(db), await holdRun(db)]
    const [lost, ...others] = leases
    const held = await readCounts(db)
    assert.equal(held.open.CLAIMED, 4)
    assert.deepEqual([held.slots.busy, held.workers.ready], [4, 4])
    for (const [at, state] of (['SUCCEEDED', 'FAILED', 'ERROR'] as const).entries()) {
      const lease = others[at]
      assert(lease)
      await finishRun(db, lease, {
        state,
        ...(state === 'SUCCEEDED' ? {} : { status_message: { message: 'x' } }),
      })
    }
    await sql`update workers set lost = true where worker_id = ${lost?.worker_id}::uuid`.execute(db)
    await requeueLost(db, () => assert.fail())
    const waiting = await readCounts(db)
    assert.deepEqual([waiting.open.QUEUED, waiting.open.CLAIMED, waiting.lost], [1, 0, 1])
    assert(lost && waiting.oldest_seconds >= 0)
    await cancel(db, lost.run_id, lost.principal_id)
    const { created, attempts, ended } = await readCounts(db)
    assert.deepEqual([created, attempts], [4, 4])
    assert.deepEqual(ended, { SUCCEEDED: 1, FAILED: 1, ERROR: 1, CANCELLED: 1 })
  })

  test('deliveries wait, go and are given up', async () => {
    const principal_id = await addPrincipal(db)
    await insertWebhook(db, {
      ...{ webhook_id: uuidv7(), creator_id: principal_id, scope: 'Team', url: 'https://example.com/' },
      ...{
        events: ['run.created'],
        format: 'runyard',
        description: null,
        enabled: true,
        sealed: Buffer.from('x'),
      },
    })
    await addRun(db, principal_id)
    await addRun(db, principal_id)
    assert.equal((await readCounts(db)).deliveries_waiting, 2)
    const due = (await takeDeliveries(db, { limit: 8, limit_each: 8, busy: new Map() })) ?? []
    const [sent, refused] = due
    assert(sent && refused)
    await markDelivered(db, sent, 200)
    await sql`update webhook_deliveries set queued_at = queued_at - interval '2 days'`.execute(db)
    await markFailed(db, refused, { response_status: 500, error: 'x', pause_ms: 0, is_gone: false })
    const { deliveries_waiting, delivered, undelivered } = await readCounts(db)
    assert.deepEqual([deliveries_waiting, delivered, undelivered], [0, 1, 1])
  })
})
