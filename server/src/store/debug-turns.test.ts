import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, addWorker, follow, readWholeLog } from '../../test/support/stored.ts'
import { insertArtifact } from './artifacts.ts'
import type { Db, Store } from './db.ts'
import { insertEnvironment } from './environments.ts'
import { appendEvents, readLog, writeOpenMessages } from './events.ts'
import { deliverFollowups } from './followups.ts'
import { writeHarnessState } from './harness-state.ts'
import { beat, claimRuns, type Lease, loseWorker, readBeats, readCommands, releaseRun } from './leases.ts'
import { findRun } from './runs.ts'
import { recordSandbox, takeExpiredSandboxes } from './sandboxes.ts'
import { finishRun, requeueLost, requeueRun } from './transitions.ts'
import { drainWorker } from './workers.ts'

const FAILED = {
  state: 'FAILED',
  status_message: { message: 'The setup failed.', error_code: 'environment_setup_failed', retryable: false },
} as const
const refuse = (run_id: string, error: unknown): never => {
  throw new Error(`${run_id} could not be taken back`, { cause: error })
}

onEitherDatabase('debug turns', (open) => {
  let store: Store
  let db: Db
  before(async () => {
    store = await open()
    db = store.db
  })

  const lose = async (worker_id: string): Promise<void> => {
    const seen = (await readBeats(db)).find((worker) => worker.worker_id === worker_id)
    assert.equal(await loseWorker(db, worker_id, seen?.beat ?? -1), true)
  }

  /** A run whose setup failed at a place of its own, released by its worker. */
  async function fail({ retention = 60, agent = 'runbook' } = {}) {
    const [pool, place, uid] = [randomUUID(), randomUUID(), randomUUID()]
    const principal_id = await addPrincipal(db)
    await insertEnvironment(db, {
      ...{ uid, creator_id: principal_id, sealed: null },
      config: { name: uid, failure_session_retention_minutes: retention },
    })
    const run_id = await addRun(db, principal_id, {
      ...{ pool, environment_id: uid, config: { harness: { type: agent } } },
    })
    const worker = await addWorker(db, { pool, place })
    const [lease] = await claimRuns(db, worker, 1)
    assert(lease)
    await recordSandbox(db, lease, {
      ...{ place, prepared: false, commits: {} },
      ref: { backend: 'host', id: run_id, run_id, attempt: 1 },
    })
    assert.equal(await finishRun(db, lease, { ...FAILED, session: 'kept' }), 'finished')
    await releaseRun(db, lease)
    const read = async () => {
      const run = await findRun(db, run_id, actorOf(principal_id))
      assert(run)
      return run
    }
    const turn = async (): Promise<Lease> => {
      await follow(db, run_id, principal_id)
      const [next] = await claimRuns(db, worker, 1)
      assert(next)
      return next
    }
    const ends = async () =>
      (await readWholeLog(db, run_id)).flatMap(({ type, data }) => (type === 'debug.ended' ? [data] : []))
    return { pool, place, principal_id, run_id, worker, read, turn, ends }
  }

  test('are claimed where the sandbox is alone, whatever agents that worker lacks, and write as executions do', async () => {
    const { pool, place, run_id, principal_id, read, worker } = await fail({ agent: 'codex' })
    const before = await read()
    assert.equal(before.is_debuggable, true)
    const { outcome, claimable_in } = await follow(db, run_id, principal_id)
    assert.deepEqual([outcome, claimable_in], ['queue_pending', pool])
    await sql`update runs set updated_at = updated_at - interval '1 minute' where run_id = ${run_id}`.execute(
      db,
    )
    const elsewhere = await addWorker(db, { pool, place: 'elsewhere' })
    assert.deepEqual(await claimRuns(db, elsewhere, 5), [])
    const beside = await addWorker(db, { pool, place, lacking_agents: ['codex'] })
    assert.deepEqual(
      await takeExpiredSandboxes(db, place, 0),
      [],
      'A sandbox that a turn waits for is not reclaimed.',
    )
    await drainWorker(db, worker.worker_id)
    const [lease] = await claimRuns(db, beside, 5)
    assert(lease)
    assert.deepEqual([lease.run_id, lease.attempt], [run_id, 2])
    const [command] = await readCommands(db, beside.worker_id)
    assert.deepEqual([command?.state, command?.is_debugged], ['FAILED', true])
    assert.equal((await readLog(db, run_id, 0, 1000))?.settled, false)
    const delivery = await deliverFollowups(db, lease)
    assert(typeof delivery !== 'string' && 'messages' in delivery)
    assert.equal(delivery.messages.length, 1)
    assert.equal(await writeOpenMessages(db, lease, [{ message_id: 'm', text: 'Soo' }]), true)
    const said = { type: 'message.assistant', data: { message_id: 'm', text: 'So.' } } as const
    assert.equal(await appendEvents(db, lease, 1, [said]), 'stored')
    assert.equal(await writeHarnessState(db, lease, { kept: true }), true)
    const artifact = { artifact_type: 'FILE', filename: 'a', filepath: 'a', mime_type: 'text/plain' } as const
    const stored = { artifact_uid: randomUUID(), blob_key: `runs/${run_id}/a`, size_bytes: 1, sha256: 'x' }
    assert.equal(await insertArtifact(db, lease, { ...artifact, ...stored }), true)
    assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED', result: 1 }), 'finished')
    assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED', result: 1 }), 'finished', 'Said again.')
    assert.equal(await appendEvents(db, lease, 2, [said]), 'lost', 'Nothing is written after the turn.')
    assert.deepEqual(await releaseRun(db, lease), { released: true, claimable_in: null })
    assert.equal((await readLog(db, run_id, 0, 1000))?.settled, true)
    const { state, status_message, result, finished_at, execution, started_at, debug, debug_until } =
      await read()
    assert.deepEqual(
      { state, status_message, result, finished_at, execution, started_at, debug },
      {
        ...{ state: 'FAILED', status_message: before.status_message, result: null, debug: null },
        ...{ finished_at: before.finished_at, execution: 1, started_at: null },
      },
    )
    assert((debug_until ?? 0) > (before.debug_until ?? 0))
  })

  test('end with their worker, say so, and lose no message', async () => {
    const { run_id, principal_id, worker, place, pool, read, turn, ends } = await fail()
    await turn()
    await follow(db, run_id, principal_id, { message: 'And this?' })
    await lose(worker.worker_id)
    const changed = await requeueLost(db, refuse)
    assert(changed.some((run) => run.run_id === run_id))
    assert.deepEqual(await ends(), [
      {
        attempt: 2,
        outcome: 'ERROR',
        status_message: {
          message: 'The worker stopped answering, and the debug turn ended with it.',
          retryable: true,
        },
        undelivered: 2,
      },
    ])
    const { state, worker_id, debug, is_debuggable } = await read()
    assert.deepEqual([state, worker_id, debug, is_debuggable], ['FAILED', null, null, false])
    // It comes back at the same place, and the next turn gets all that waited.
    const back = await addWorker(db, { pool, place })
    assert.equal((await read()).is_debuggable, true)
    await follow(db, run_id, principal_id, { message: 'Hello?' })
    const [lease] = await claimRuns(db, back, 1)
    assert(lease)
    const delivery = await deliverFollowups(db, lease)
    assert(typeof delivery !== 'string' && 'messages' in delivery)
    assert.deepEqual(
      delivery.messages.map(({ data }) => data.text),
      ['And then?', 'And this?', 'Hello?'],
    )
    assert.equal(await beat(db, back.worker_id), true)
    assert.equal(await requeueRun(db, lease, 'The worker is stopping.', false), true)
    assert.deepEqual((await ends()).at(-1)?.status_message?.message, 'The worker is stopping.')
    assert.equal((await read()).worker_id, null)
  })

  for (const [what, strand] of [
    [
      'its worker went and has not come back within a minute',
      async ({ run_id, worker }: Awaited<ReturnType<typeof fail>>) => {
        await lose(worker.worker_id)
        await requeueLost(db, refuse)
        const { rows } = await sql`select from runs where run_id = ${run_id} and debug = 'waiting'`.execute(
          db,
        )
        assert.equal(rows.length, 1, 'A service that starts anew is waited for.')
        await sql`update runs set updated_at = updated_at - interval '2 minutes' where run_id = ${run_id}`.execute(
          db,
        )
      },
    ],
    [
      'its sandbox is gone',
      ({ run_id }: Awaited<ReturnType<typeof fail>>) =>
        sql`delete from sandboxes where run_id = ${run_id}`.execute(db),
    ],
    [
      'who executes it may not any more',
      ({ principal_id }: Awaited<ReturnType<typeof fail>>) =>
        sql`update principals set disabled = true where principal_id = ${principal_id}`.execute(db),
    ],
  ] as const)
    test(`do not wait for ever: ${what}`, async () => {
      const failed = await fail()
      await follow(db, failed.run_id, failed.principal_id)
      await requeueLost(db, refuse)
      assert.deepEqual(await failed.ends(), [])
      await strand(failed)
      await requeueLost(db, refuse)
      assert.deepEqual(
        (await failed.ends()).map(({ undelivered }) => undelivered),
        [1],
      )
      const { debug, state, undelivered } = await failed.read()
      assert.deepEqual([debug, state, undelivered], [null, 'FAILED', 1])
    })

  test('are only for what has failed in its setup, in an environment that keeps it', async () => {
    const { run_id, principal_id, read } = await fail({ retention: 0 })
    assert.equal((await read()).debug_until, null)
    assert.equal((await follow(db, run_id, principal_id)).outcome, 'handoff_execution')
  })
})
