import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, addWorker, follow, readWholeLog } from '../../test/support/stored.ts'
import { closeEndedCalls } from '../log/interruption.ts'
import { readProgress } from '../log/progress.ts'
import { answerApproval, StillAsking } from './approvals.ts'
import { insertArtifact } from './artifacts.ts'
import type { Db, Store } from './db.ts'
import { insertEnvironment } from './environments.ts'
import { appendEvents, readLog, writeOpenMessages } from './events.ts'
import { deliverFollowups } from './followups.ts'
import { writeHarnessState } from './harness-state.ts'
import { beat, claimRuns, type Lease, loseWorker, readCommands, releaseRun } from './leases.ts'
import { findRun } from './runs.ts'
import { recordSandbox, takeExpiredSandboxes } from './sandboxes.ts'
import { finishRun, readLiveness, requeueLost, requeueRun } from './transitions.ts'
import { insertReply, takeReplies } from './trigger-replies.ts'
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
    const seen = (await readLiveness(db)).beats.find((worker) => worker.worker_id === worker_id)
    assert.equal(await loseWorker(db, worker_id, seen?.beat ?? -1), true)
  }

  /** A run whose setup failed at a place of its own, released by its worker. */
  async function fail({ retention = 60, agent = 'runbook', releases = true } = {}) {
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
    if (releases) await releaseRun(db, lease)
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
    return { pool, place, principal_id, run_id, worker, lease, read, turn, ends }
  }

  test('are claimed where the sandbox is alone, whatever agents that worker lacks, and write as executions do', async () => {
    const { pool, place, run_id, principal_id, read, worker } = await fail({ agent: 'codex' })
    const before = await read()
    assert.equal(before.is_debuggable, true)
    const { outcome, claimable_in } = await follow(db, run_id, principal_id)
    assert.deepEqual([outcome, claimable_in], ['queue_pending', pool])
    assert.equal((await readLog(db, run_id, 0, 1000))?.settled, false, 'Its stream stays open.')
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
    await sql`update runs set claimed_at = claimed_at - interval '1 hour' where run_id = ${run_id}`.execute(
      db,
    )
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
    assert((await read()).run_time_ms >= 3_600_000, 'It counts for the budget.')
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

  test('that are asked for before the failed execution has let go begin as soon as it has', async () => {
    const { run_id, principal_id, worker, lease, pool } = await fail({ releases: false })
    const { outcome, claimable_in } = await follow(db, run_id, principal_id)
    assert.deepEqual([outcome, claimable_in], ['queue_pending', null])
    assert.deepEqual(await claimRuns(db, worker, 1), [])
    assert.deepEqual(await releaseRun(db, lease), { released: true, claimable_in: pool })
    assert.equal((await claimRuns(db, worker, 1))[0]?.attempt, 2)
  })

  test('that work when their window is over get what is said meanwhile', async () => {
    const { run_id, principal_id, read, turn } = await fail()
    await turn()
    await sql`update runs set debug_until = clock_timestamp() where run_id = ${run_id}`.execute(db)
    assert.equal((await follow(db, run_id, principal_id)).outcome, 'live_session')
    const { state, debug, execution } = await read()
    assert.deepEqual([state, debug, execution], ['FAILED', 'working', 1])
  })

  test('may ask for an approval, whose answer goes on in the same place', async () => {
    const { run_id, principal_id, worker, read, turn } = await fail()
    const lease = await turn()
    await deliverFollowups(db, lease)
    const approval = { approval_id: 'a', tool_call_id: 't', tool: 'bash', input: {} }
    const rule = { tool: 'bash', action: 'ask' } as const
    await appendEvents(db, lease, 1, [
      { type: 'tool.call', data: { tool_call_id: 't', name: 'bash', input: {} } },
      { type: 'approval.requested', data: { ...approval, rule } },
    ])
    const answer = () =>
      db.transaction().execute((trx) =>
        answerApproval(trx, {
          ...{ run_id, approval_id: 'a', decision: 'allow_once', reason: undefined },
          author: actorOf(principal_id),
        }),
      )
    await assert.rejects(answer(), StillAsking)
    const status_message = { message: 'May it?', waits_for: 'approval', approval } as const
    assert.equal(await finishRun(db, lease, { state: 'BLOCKED', status_message }), 'finished')
    await releaseRun(db, lease)
    const log = await readWholeLog(db, run_id)
    assert.deepEqual(closeEndedCalls(log), [], 'The call waits.')
    assert.equal(readProgress(log).open_calls.length, 1)
    await answer()
    const { state, debug, execution } = await read()
    assert.deepEqual([state, debug, execution], ['FAILED', 'waiting', 1])
    await assert.rejects(answer(), /Nothing waits/)
    const [next] = await claimRuns(db, worker, 1)
    assert.equal(next?.run_id, run_id)
  })

  test('are what triggers answer with: the run itself does not change', async () => {
    const { run_id, principal_id, turn } = await fail()
    const [trigger_id, delivery_id] = [randomUUID(), randomUUID()]
    await sql`
      insert into triggers (trigger_id, name, verification, on_open_run, prompt, config, sealed, metadata, scope, creator_id, editor_id, enabled)
      values (${trigger_id}, 'T', 'github', 'followup', 'x', '{}', '', '{}', 'Team', ${principal_id}, ${principal_id}, true)`.execute(
      db,
    )
    await sql`
      insert into trigger_deliveries (delivery_id, trigger_id, outcome, run_id, headers, payload)
      values (${delivery_id}, ${trigger_id}, 'followup_sent', ${run_id}, '{}', '{}')`.execute(db)
    const lease = await turn()
    const thread = { host: 'github.com', repository: 'acme/site', number: 1 }
    await insertReply(db, { delivery_id, run_id, thread, at_once: false })
    const due = async () =>
      ((await takeReplies(db, 100)) ?? []).flatMap((reply) =>
        reply.run_id === run_id ? [reply.end?.state] : [],
      )
    assert.deepEqual(await due(), [])
    await deliverFollowups(db, lease)
    assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED' }), 'finished')
    assert.deepEqual(await due(), ['SUCCEEDED'])
  })

  test('are none any more once the environment keeps nothing', async () => {
    const { run_id, principal_id, read } = await fail()
    const { environment_id } = await read()
    await sql`
      update environments set config = jsonb_set(config, '{failure_session_retention_minutes}', '0')
      where uid = ${environment_id}`.execute(db)
    assert.equal((await read()).is_debuggable, false)
    assert.equal((await follow(db, run_id, principal_id)).outcome, 'handoff_execution')
  })

  test('are only for what has failed in its setup, in an environment that keeps it', async () => {
    const { run_id, principal_id, read } = await fail({ retention: 0 })
    assert.equal((await read()).debug_until, null)
    assert.equal((await follow(db, run_id, principal_id)).outcome, 'handoff_execution')
  })
})
