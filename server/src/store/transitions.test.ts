import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase, onPostgres, waitForLock } from '../../test/support/databases.ts'
import { cancel, holdRun, readStored, readWholeLog } from '../../test/support/stored.ts'
import { type Db, transact } from './db.ts'
import type { Lease } from './leases.ts'
import { readRuns } from './runs.ts'
import { finishRun, requeueLost, startRun } from './transitions.ts'
import { retireWorker } from './workers.ts'

const DAY_MS = 24 * 60 * 60_000

onEitherDatabase('transitions', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  /** Held since a hundred days ago: four times what an int has milliseconds for. */
  const holdLong = async () => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    await sql`update runs set claimed_at = claimed_at - interval '100 days' where run_id = ${held.run_id}`.execute(
      db,
    )
    return held
  }
  const assertHundredDays = async ({ run_id }: Lease) => {
    const [run] = await readRuns(db, [run_id])
    assert.equal(typeof run?.run_time_ms, 'number')
    assert.equal(Math.floor((run?.run_time_ms ?? 0) / DAY_MS), 100)
  }
  const takenBack = async () => {
    const failed: string[] = []
    const changed = await requeueLost(db, (run_id) => failed.push(run_id))
    return { changed: changed.map(({ run_id }) => run_id).sort(), failed }
  }

  test('a run that was held for a hundred days can be cancelled, ended and taken back', async () => {
    const [cancelled, ended, lost] = [await holdLong(), await holdLong(), await holdLong()]
    await cancel(db, cancelled.run_id, cancelled.principal_id)
    assert.equal(await finishRun(db, ended, { state: 'SUCCEEDED' }), 'finished')
    await retireWorker(db, lost.worker_id)
    assert.deepEqual(await takenBack(), { changed: [lost.run_id], failed: [] })
    for (const held of [cancelled, ended, lost]) await assertHundredDays(held)
    // What it took counts on from there.
    const [state] = (await readWholeLog(db, lost.run_id)).slice(-1)
    assert.equal(state?.type === 'run.state' && state.data.state, 'QUEUED')
  })

  test('a run that cannot be taken back keeps no other one, and is tried again', async () => {
    const held = [await holdRun(db), await holdRun(db), await holdRun(db)]
    const [first, bad, last] = held
    assert(first && bad && last)
    // There is no further sequence, so no event can be appended.
    await sql`update runs set last_sequence = 2147483647 where run_id = ${bad.run_id}`.execute(db)
    for (const { worker_id } of held) await retireWorker(db, worker_id)
    assert.deepEqual(await takenBack(), { changed: [first.run_id, last.run_id].sort(), failed: [bad.run_id] })
    assert.equal((await readStored(db, bad.run_id)).worker_id, bad.worker_id)
    await sql`update runs set last_sequence = 10 where run_id = ${bad.run_id}`.execute(db)
    assert.deepEqual(await takenBack(), { changed: [bad.run_id], failed: [] })
  })
})

onPostgres('a run that changes while it is cancelled', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  /** Cancels once `changing` has changed the run and not committed, so that the cancel sees the row as it was. */
  async function cancelDuring(
    lease: Lease & { principal_id: string },
    changing: (trx: Db) => Promise<unknown>,
  ) {
    let cancelling: Promise<unknown> = Promise.resolve()
    await transact(db, async (trx) => {
      await changing(trx)
      cancelling = cancel(db, lease.run_id, lease.principal_id)
      cancelling.catch(() => {})
      await waitForLock(db)
    })
    await cancelling
  }

  test('is cancelled in its new state', async () => {
    const held = await holdRun(db)
    await cancelDuring(held, (trx) => startRun(trx, held, { harness: 'runbook' }))
    const [state] = (await readWholeLog(db, held.run_id)).slice(-1)
    assert.partialDeepStrictEqual(state?.data, { state: 'CANCELLED', previous_state: 'INPROGRESS' })
  })

  test('is refused with the end it came to', async () => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    const ending = cancelDuring(held, (trx) => finishRun(trx, held, { state: 'SUCCEEDED' }))
    await assert.rejects(ending, { detail: 'The run has already ended: it is SUCCEEDED.' })
  })
})
