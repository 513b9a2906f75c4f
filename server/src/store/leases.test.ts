import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import {
  addPrincipal,
  addRun,
  addWorker,
  cancel,
  follow,
  holdRun,
  interrupt,
  POOL,
  readOpenMessages,
  readStored,
  readWholeLog,
} from '../../test/support/stored.ts'
import type { NewEvent } from '../contract/event.ts'
import { insertArtifact } from './artifacts.ts'
import type { Db, Store } from './db.ts'
import { insertEnvironment } from './environments.ts'
import { appendEvents, writeOpenMessages } from './events.ts'
import { type Delivery, deliverFollowups } from './followups.ts'
import { acknowledgeInterrupt, beat, claimRuns, type Lease, loseWorker, releaseRun } from './leases.ts'
import { recordSandbox } from './sandboxes.ts'
import {
  finishRun,
  MAX_LOST_ATTEMPTS,
  readLiveness,
  requeueLost,
  requeueRun,
  startRun,
} from './transitions.ts'
import { drainWorker, hasOtherWorker, loseAllWorkers, markDisk, retireWorker } from './workers.ts'

const SAID: NewEvent = { type: 'message.assistant', data: { message_id: 'm', text: 'Done.' } }
const STEP: NewEvent = { type: 'tool.result', data: { tool_call_id: 't', is_error: false, exit_code: 0 } }
const refuse = (run_id: string, error: unknown): never => {
  throw new Error(`${run_id} could not be taken back`, { cause: error })
}
const textsOf = (delivery: Delivery): unknown =>
  typeof delivery !== 'string' && 'messages' in delivery
    ? delivery.messages.map((event) => event.data.text)
    : delivery
const CONFIG = { harness: 'runbook' }

onEitherDatabase('leases', (open) => {
  let store: Store
  let db: Db
  before(async () => {
    store = await open()
    db = store.db
  })

  const typesOf = async (run_id: string): Promise<string[]> =>
    (await readWholeLog(db, run_id)).map((event) =>
      event.type === 'run.state' ? event.data.state : event.type,
    )
  const lose = async (worker_id: string): Promise<void> => {
    const seen = (await readLiveness(db)).beats.find((worker) => worker.worker_id === worker_id)
    assert.equal(await loseWorker(db, worker_id, seen?.beat ?? -1), true)
  }

  test('a claim takes what is queued in its pool, once', async () => {
    const pool = randomUUID()
    const principal_id = await addPrincipal(db)
    const here = [await addRun(db, principal_id, { pool }), await addRun(db, principal_id, { pool })]
    await addRun(db, principal_id, { pool: 'elsewhere' })
    const worker = await addWorker(db, { pool })
    const claimed = [...(await claimRuns(db, worker, 1)), ...(await claimRuns(db, worker, 5))]
    assert.deepEqual(
      claimed,
      here.map((run_id) => ({ run_id, attempt: 1, worker_id: worker.worker_id })),
    )
    assert.deepEqual(await claimRuns(db, worker, 5), [])
    const [run_id = ''] = here
    assert.deepEqual(await typesOf(run_id), ['QUEUED', 'message.user', 'attempt.started', 'CLAIMED'])
    const { state, worker_id, attempt, last_sequence } = await readStored(db, run_id)
    assert.deepEqual([state, worker_id, attempt, last_sequence], ['CLAIMED', worker.worker_id, 1, 4])
  })

  test('a worker leaves runs of an agent that it lacks to one that has it, but where they bring it along', async () => {
    const pool = randomUUID()
    const principal_id = await addPrincipal(db)
    const environmentOf = async (config: { variables?: Record<string, string> }) => {
      const uid = randomUUID()
      await insertEnvironment(db, {
        ...{ uid, creator_id: principal_id, sealed: null },
        config: { name: uid, ...config },
      })
      return uid
    }
    const add = (type: string | undefined, environment_id: string | null = null) =>
      addRun(db, principal_id, {
        pool,
        environment_id,
        config: type === undefined ? {} : { harness: { type } },
      })
    const bringing = await environmentOf({ variables: { PATH: '/workspace/bin' } })
    const left = [await add('codex'), await add('codex', await environmentOf({}))]
    const taken = [await add('codex', bringing), await add('claude'), await add(undefined)]
    const lacking = await addWorker(db, { pool, lacking_agents: ['codex', 'gemini'] })
    const equipped = await addWorker(db, { pool })
    const claim = async (worker: typeof lacking) =>
      (await claimRuns(db, worker, 9)).map(({ run_id }) => run_id).sort()
    assert.deepEqual(await claim(lacking), taken.sort())
    // Nobody else would have it either: then it says so itself.
    await drainWorker(db, equipped.worker_id)
    assert.deepEqual(await claim(lacking), left.sort())
  })

  test('limits of principals hold over all pools, among claimers at work at the same time', async () => {
    // In one pool claimers meet at the same rows; only between pools does the limit itself have to keep them apart.
    const pools = [randomUUID(), randomUUID(), randomUUID()]
    const limits = new Map([
      [await addPrincipal(db, 3), 3],
      [await addPrincipal(db, 1), 1],
      [await addPrincipal(db, 0), 0],
    ])
    for (const principal_id of limits.keys()) {
      for (const pool of pools) for (let i = 0; i < 8; i += 1) await addRun(db, principal_id, { pool })
    }
    const claimed: string[] = []
    let violations = 0
    const countViolations = async () => {
      const active = await sql<{ principal_id: string; n: number }>`
        select principal_id, count(*)::int as n from runs where worker_id is not null and pool = any(${pools}) group by 1`.execute(
        db,
      )
      for (const { principal_id, n } of active.rows) if (n > (limits.get(principal_id) ?? 0)) violations += 1
    }
    const claimer = async (pool: string): Promise<void> => {
      const worker = await addWorker(db, { pool })
      while (claimed.length < 48) {
        const leases = await claimRuns(db, worker, 2)
        await countViolations()
        for (const lease of leases) {
          claimed.push(lease.run_id)
          assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED' }), 'finished')
          assert.equal((await releaseRun(db, lease)).released, true)
        }
      }
    }
    await Promise.all([...pools, ...pools].map(claimer))
    assert.equal(violations, 0)
    assert.equal(claimed.length, 48)
    assert.equal(new Set(claimed).size, 48)
  })

  test('a look for runs writes nothing where none waits', async () => {
    const worker = await addWorker(db, { pool: randomUUID() })
    const looked = await db.transaction().execute(async (trx) => {
      assert.deepEqual(await claimRuns(trx, worker, 4), [])
      return await sql<{ xid: string | null }>`select pg_current_xact_id_if_assigned()::text as xid`.execute(
        trx,
      )
    })
    assert.equal(looked.rows[0]?.xid, null)
  })

  test('principals share fairly; within one, priority goes before age', async () => {
    const pool = randomUUID()
    const busy = await addPrincipal(db)
    const modest = await addPrincipal(db)
    const many: string[] = []
    for (let i = 0; i < 6; i += 1) many.push(await addRun(db, busy, { pool, priority: i === 4 ? 1 : 0 }))
    const few = [await addRun(db, modest, { pool }), await addRun(db, modest, { pool })]
    const worker = await addWorker(db, { pool })
    const first = (await claimRuns(db, worker, 4)).map((lease) => lease.run_id)
    assert.deepEqual(first.toSorted(), [many[4], many[0], ...few].toSorted())
    // The busy one holds two already, and is next only because nobody else waits.
    const late = await addRun(db, await addPrincipal(db), { pool })
    const second = (await claimRuns(db, worker, 2)).map((lease) => lease.run_id)
    assert.deepEqual(second.toSorted(), [late, many[1]].toSorted())
  })

  test('a person who has identities execute runs gets one share', async () => {
    const pool = randomUUID()
    const [many, few] = [await addPrincipal(db), await addPrincipal(db)]
    const queued: string[] = []
    for (let i = 0; i < 4; i += 1)
      queued.push(await addRun(db, await addPrincipal(db), { pool, creator_id: many }))
    const own = [await addRun(db, few, { pool }), await addRun(db, few, { pool })]
    const worker = await addWorker(db, { pool })
    const first = (await claimRuns(db, worker, 3)).map((lease) => lease.run_id)
    assert.deepEqual(first.toSorted(), [queued[0], queued[1], own[0]].toSorted())
    assert.deepEqual(
      (await claimRuns(db, worker, 1)).map((lease) => lease.run_id),
      [own[1]],
    )
  })

  test('a disabled principal’s runs wait', async () => {
    const pool = randomUUID()
    const principal_id = await addPrincipal(db)
    await addRun(db, principal_id, { pool })
    await sql`update principals set disabled = true where principal_id = ${principal_id}`.execute(db)
    const worker = await addWorker(db, { pool })
    assert.deepEqual(await claimRuns(db, worker, 1), [])
    await sql`update principals set disabled = false where principal_id = ${principal_id}`.execute(db)
    assert.equal((await claimRuns(db, worker, 1)).length, 1)
  })

  test('a stale lease writes nothing', async () => {
    const held = await holdRun(db)
    assert.equal(await startRun(db, held, CONFIG), true)
    await follow(db, held.run_id, held.principal_id)
    await interrupt(db, held.run_id, held.principal_id)
    const stale: Lease[] = [
      { ...held, attempt: held.attempt - 1 },
      { ...held, attempt: held.attempt + 1 },
      { ...held, worker_id: randomUUID() },
      { ...held, run_id: randomUUID() },
    ]
    const before = [await readStored(db, held.run_id), await typesOf(held.run_id)]
    const { interrupt_sequence } = await readStored(db, held.run_id)
    const ref = { backend: 'host', id: 'x', run_id: held.run_id, attempt: 1 }
    const artifact = {
      artifact_uid: randomUUID(),
      artifact_type: 'FILE',
      filename: 'a',
      filepath: 'a',
      mime_type: 'text/plain',
      size_bytes: 1,
      sha256: 'x',
      blob_key: 'x',
    } as const
    for (const lease of stale) {
      assert.equal(await startRun(db, lease, CONFIG), false)
      assert.equal(await appendEvents(db, lease, 1, [SAID]), 'lost')
      assert.equal(await writeOpenMessages(db, lease, [{ message_id: 'm', text: 'x' }]), false)
      assert.equal(await deliverFollowups(db, lease), 'lost')
      assert.equal(await acknowledgeInterrupt(db, lease, interrupt_sequence ?? -1), false)
      assert.equal(await insertArtifact(db, lease, artifact), false)
      assert.equal(
        await recordSandbox(db, lease, { place: 'a-place', ref, prepared: true, commits: {} }),
        false,
      )
      assert.equal(await finishRun(db, lease, { state: 'SUCCEEDED' }), 'lost')
      assert.equal(await requeueRun(db, lease, 'Because.', true), false)
      assert.deepEqual(await releaseRun(db, lease), { released: false, claimable_in: null })
    }
    assert.deepEqual([await readStored(db, held.run_id), await typesOf(held.run_id)], before)
    assert.deepEqual(await readOpenMessages(db, held.run_id), [])
    // The lease itself still may.
    assert.equal(await appendEvents(db, held, 1, [SAID]), 'waiting')
    assert.equal(await insertArtifact(db, held, artifact), true)
  })

  test('states change from the expected one only', async () => {
    const held = await holdRun(db)
    assert.equal(await writeOpenMessages(db, held, [{ message_id: 'm', text: 'x' }]), false)
    assert.equal(await startRun(db, held, CONFIG), true)
    assert.equal(await startRun(db, held, CONFIG), true, 'Said again, since the answer was not heard.')
    assert.equal(
      await finishRun(db, held, { state: 'FAILED', status_message: { message: 'No.' } }),
      'finished',
    )
    assert.equal(await finishRun(db, held, { state: 'FAILED' }), 'finished')
    assert.equal(await finishRun(db, held, { state: 'SUCCEEDED' }), 'lost')
    assert.equal(await startRun(db, held, CONFIG), false)
    assert.equal(await appendEvents(db, held, 1, [SAID]), 'lost')
    assert.equal(await requeueRun(db, held, 'Because.', false), false)
    const types = await typesOf(held.run_id)
    assert.deepEqual(types.slice(-2), ['INPROGRESS', 'FAILED'])
  })

  test('a run at work cannot be released', async () => {
    const held = await holdRun(db)
    assert.equal((await releaseRun(db, held)).released, false)
    await startRun(db, held, CONFIG)
    assert.equal((await releaseRun(db, held)).released, false)
    assert.equal((await readStored(db, held.run_id)).worker_id, held.worker_id)
  })

  test('no end while a follow-up waits', async () => {
    const held = await holdRun(db)
    await startRun(db, held, CONFIG)
    await follow(db, held.run_id, held.principal_id, { message: 'Wait!' })
    assert.equal(await finishRun(db, held, { state: 'SUCCEEDED' }), 'undelivered')
    const delivered = await deliverFollowups(db, held)
    assert.deepEqual(textsOf(delivered), ['Wait!'])
    assert.deepEqual(textsOf(await deliverFollowups(db, held)), [])
    assert.equal(await finishRun(db, held, { state: 'SUCCEEDED' }), 'finished')
  })

  test('a follow-up and the end at the same time: neither loses the other', async () => {
    for (let round = 0; round < 30; round += 1) {
      const held = await holdRun(db)
      await startRun(db, held, CONFIG)
      const race = [
        () => finishRun(db, held, { state: 'SUCCEEDED' }),
        () => follow(db, held.run_id, held.principal_id).then(({ outcome }) => outcome),
      ]
      const [a, b] = round % 2 ? race : race.toReversed()
      const [first, second] = await Promise.all([a?.(), b?.()])
      const result = (round % 2 ? [first, second] : [second, first]).join(' ')
      const { state, undelivered } = await readStored(db, held.run_id)
      assert.equal(undelivered, 1)
      const expected = { 'finished queue_pending': 'QUEUED', 'undelivered live_session': 'INPROGRESS' }
      assert.equal(state, expected[result as keyof typeof expected])
    }
  })

  test('a cancelled run belongs to its worker until that lets go', async () => {
    const held = await holdRun(db)
    await startRun(db, held, CONFIG)
    await cancel(db, held.run_id, held.principal_id)
    // What had been streamed is kept, for two seconds.
    assert.equal(await appendEvents(db, held, 1, [SAID]), 'waiting')
    await sql`update runs set finished_at = finished_at - interval '2 seconds' where run_id = ${held.run_id}`.execute(
      db,
    )
    assert.equal(await appendEvents(db, held, 2, [SAID]), 'lost')
    assert.equal(await appendEvents(db, held, 1, [SAID]), 'waiting', 'It is stored already.')

    const { outcome, claimable_in } = await follow(db, held.run_id, held.principal_id)
    assert.deepEqual([outcome, claimable_in], ['queue_pending', null])
    const next = await addWorker(db, { pool: held.pool })
    assert.deepEqual(await claimRuns(db, next, 1), [])
    assert.deepEqual(await releaseRun(db, held), { released: true, claimable_in: held.pool })
    const [lease] = await claimRuns(db, next, 1)
    assert.equal(lease?.attempt, 2)
    assert.equal((await readStored(db, held.run_id)).execution, 2)
    assert.equal((await releaseRun(db, held)).released, false)
  })

  test('a worker is lost only when its beat still is the one that was watched', async () => {
    const { worker_id, pool } = await addWorker(db, { pool: randomUUID() })
    assert.equal(await beat(db, worker_id), true)
    assert.equal(await loseWorker(db, worker_id, 0), false)
    assert.equal(await beat(db, worker_id), true)
    assert.equal(await loseWorker(db, worker_id, 2), true)
    assert.equal(await loseWorker(db, worker_id, 2), false)
    assert.equal(await beat(db, worker_id), false)
    await addRun(db, await addPrincipal(db), { pool })
    assert.deepEqual(await claimRuns(db, { worker_id, pool }, 1), [])
    const retired = await addWorker(db)
    await retireWorker(db, retired.worker_id)
    assert.equal(await beat(db, retired.worker_id), false)
  })

  test('runs of a lost worker go back to the queue; what had ended is let go', async () => {
    const [claimed, working, ended] = [await holdRun(db), await holdRun(db), await holdRun(db)]
    await startRun(db, working, CONFIG)
    await writeOpenMessages(db, working, [{ message_id: 'm', text: 'half a' }])
    await finishRun(db, ended, { state: 'SUCCEEDED' })
    const other = await holdRun(db)
    for (const { worker_id } of [claimed, working, ended]) await lose(worker_id)
    assert.equal((await readLiveness(db)).has_lost, true)
    const changed = await requeueLost(db, refuse)
    const mine = [claimed, working, ended].map(({ run_id, pool }) => ({ run_id, pool }))
    const byId = (a: { run_id: string }, b: { run_id: string }) => (a.run_id < b.run_id ? -1 : 1)
    assert.deepEqual(changed.toSorted(byId), mine.sort(byId))
    assert.deepEqual(await requeueLost(db, refuse), [])
    assert.equal((await readLiveness(db)).has_lost, false)
    for (const lease of [claimed, working]) {
      assert.deepEqual((await typesOf(lease.run_id)).slice(-2), ['attempt.lost', 'QUEUED'])
      const { state, worker_id, attempt, lost_attempts } = await readStored(db, lease.run_id)
      assert.deepEqual([state, worker_id, attempt, lost_attempts], ['QUEUED', null, 1, 1])
      assert.equal(await appendEvents(db, lease, 1, [SAID]), 'lost')
      const [again] = await claimRuns(db, await addWorker(db, { pool: lease.pool }), 1)
      assert.equal(again?.attempt, 2)
      assert.equal(await appendEvents(db, lease, 1, [SAID]), 'lost')
    }
    assert.deepEqual(await readOpenMessages(db, working.run_id), [])
    assert.equal((await typesOf(ended.run_id)).at(-1), 'SUCCEEDED')
    assert.equal((await readStored(db, ended.run_id)).worker_id, null)
    assert.equal((await readStored(db, other.run_id)).worker_id, other.worker_id)
  })

  const loseTimes = async (run_id: string, pool: string, times: number, steps = false): Promise<void> => {
    for (let i = 0; i < times; i += 1) {
      const worker = await addWorker(db, { pool })
      const [lease] = await claimRuns(db, worker, 1)
      assert.equal(lease?.run_id, run_id)
      if (steps) await appendEvents(db, lease, 1, [STEP])
      await lose(worker.worker_id)
      await requeueLost(db, refuse)
    }
  }

  test('a run that takes five workers along in a row is ended, not its neighbours', async () => {
    const pool = randomUUID()
    const run_id = await addRun(db, await addPrincipal(db), { pool })
    await loseTimes(run_id, pool, MAX_LOST_ATTEMPTS - 1)
    assert.equal((await readStored(db, run_id)).state, 'QUEUED')
    await loseTimes(run_id, pool, 1)
    const stored = await readStored(db, run_id)
    assert.deepEqual([stored.state, stored.attempt, stored.worker_id], ['ERROR', MAX_LOST_ATTEMPTS, null])
    const last = (await readWholeLog(db, run_id)).at(-1)
    assert(last?.type === 'run.state')
    assert.equal(last.data.status_message?.error_code, 'resource_unavailable')
    assert.equal(last.data.status_message.retryable, true)
  })

  test('who goes on with a run that was given up gives it all its attempts again', async () => {
    const pool = randomUUID()
    const principal_id = await addPrincipal(db)
    const run_id = await addRun(db, principal_id, { pool })
    await loseTimes(run_id, pool, MAX_LOST_ATTEMPTS)
    await follow(db, run_id, principal_id)
    await loseTimes(run_id, pool, MAX_LOST_ATTEMPTS - 1)
    assert.equal((await readStored(db, run_id)).state, 'QUEUED')
  })

  test('a finished step shows that the run is not the poison', async () => {
    const pool = randomUUID()
    const run_id = await addRun(db, await addPrincipal(db), { pool })
    await loseTimes(run_id, pool, MAX_LOST_ATTEMPTS + 1, true)
    const { state, lost_attempts, attempt } = await readStored(db, run_id)
    assert.deepEqual([state, lost_attempts, attempt], ['QUEUED', 1, MAX_LOST_ATTEMPTS + 1])
  })

  test('a worker that stops hands back without counting a loss; a failure counts', async () => {
    const held = await holdRun(db)
    assert.equal(await requeueRun(db, held, 'The worker is stopping.', false), true)
    const { state, worker_id, lost_attempts } = await readStored(db, held.run_id)
    assert.deepEqual([state, worker_id, lost_attempts], ['QUEUED', null, 0])
    for (let i = 0; i < MAX_LOST_ATTEMPTS; i += 1) {
      const [lease] = await claimRuns(db, { worker_id: held.worker_id, pool: held.pool }, 1)
      assert(lease)
      assert.equal(await requeueRun(db, lease, 'It failed.', true), true)
    }
    assert.equal((await readStored(db, held.run_id)).state, 'ERROR')
  })

  test('a follow-up is left to the worker that still has the sandbox, while that lives', async () => {
    const held = await holdRun(db)
    const ref = { backend: 'host', id: 'x', run_id: held.run_id, attempt: 1 }
    await recordSandbox(db, held, { place: 'a-place', ref, prepared: true, commits: {} })
    await finishRun(db, held, { state: 'SUCCEEDED' })
    await releaseRun(db, held)
    await follow(db, held.run_id, held.principal_id)
    const far = await addWorker(db, { pool: held.pool, place: 'another-place' })
    assert.deepEqual(await claimRuns(db, far, 1), [])
    await lose(held.worker_id)
    assert.equal((await claimRuns(db, far, 1)).length, 1)
  })

  test('a follow-up waits for no worker that is stopping', async () => {
    const held = await holdRun(db)
    const ref = { backend: 'host', id: 'x', run_id: held.run_id, attempt: 1 }
    await recordSandbox(db, held, { place: 'a-place', ref, prepared: true, commits: {} })
    const far = await addWorker(db, { pool: held.pool, place: 'another-place' })
    await drainWorker(db, held.worker_id)
    await requeueRun(db, held, 'The worker is stopping.', false)
    assert.deepEqual(await claimRuns(db, held, 1), [])
    assert.equal((await claimRuns(db, far, 1)).length, 1)
  })

  test('a worker whose disk is full is waited for by no run, and is nobody to leave one to', async () => {
    const held = await holdRun(db)
    const ref = { backend: 'host', id: 'x', run_id: held.run_id, attempt: 1 }
    await recordSandbox(db, held, { place: 'a-place', ref, prepared: true, commits: {} })
    const far = await addWorker(db, { pool: held.pool, place: 'another-place' })
    assert.equal(await hasOtherWorker(db, far), true)
    await markDisk(db, held.worker_id, true)
    assert.equal(await hasOtherWorker(db, far), false)
    await requeueRun(db, held, 'The disk of the worker is full.', true)
    assert.equal((await claimRuns(db, far, 1)).length, 1)
  })

  test('every worker before this start is lost, where the lock proves that none lives', async () => {
    await addWorker(db, { pool: POOL })
    await loseAllWorkers(db)
    assert.deepEqual((await readLiveness(db)).beats, [])
  })
})
