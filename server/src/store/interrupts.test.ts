/** An interrupt stops the turn it was aimed at: whatever comes first, second and third. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase, onPostgres, waitForLock } from '../../test/support/databases.ts'
import {
  addPrincipal,
  addRun,
  addWorker,
  cancel,
  follow,
  holdRun,
  interrupt,
  readStored,
  readWholeLog,
} from '../../test/support/stored.ts'
import type { RunEvent } from '../contract/event.ts'
import { type Db, transact } from './db.ts'
import { deliverFollowups } from './followups.ts'
import { acknowledgeInterrupt, claimRuns, type Lease, readCommands } from './leases.ts'
import { finishRun, requeueLost, requeueRun, startRun } from './transitions.ts'
import { retireWorker } from './workers.ts'

onEitherDatabase('interrupts', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  const work = async () => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    return held
  }
  type Held = Awaited<ReturnType<typeof work>>
  const say = (held: Held, message: string, on_busy: 'interrupt' | 'enqueue') =>
    follow(db, held.run_id, held.principal_id, { message, on_busy })
  const pending = async (lease: Lease) =>
    (await readCommands(db, lease.worker_id)).find(({ run_id }) => run_id === lease.run_id)
      ?.interrupt_sequence
  const deliver = async (lease: Lease) => {
    const delivery = await deliverFollowups(db, lease)
    assert(typeof delivery !== 'string' && 'messages' in delivery, 'An interrupt keeps messages back.')
    return delivery.messages.map((event) => event.data.text)
  }
  /** What a worker does once the turn is stopped. */
  const obey = async (lease: Lease) => {
    const sequence = await pending(lease)
    assert(typeof sequence === 'number')
    assert.equal(await acknowledgeInterrupt(db, lease, sequence), true)
    return sequence
  }
  /** Texts and interruptions, in the order of the log. */
  const story = async ({ run_id }: Lease) =>
    (await readWholeLog(db, run_id)).flatMap((event: RunEvent) => {
      if (event.type === 'message.user') return [event.data.text]
      return event.type === 'interrupted' ? ['interrupted'] : []
    })
  const claimAgain = async (held: Held): Promise<Held> => {
    const [lease] = await claimRuns(db, await addWorker(db, { pool: held.pool }), 1)
    assert.equal(lease?.run_id, held.run_id)
    return { ...held, ...lease }
  }

  test('keeps back the message it came with until the turn is stopped, so it cannot stop that one', async () => {
    const held = await work()
    await say(held, 'instead', 'interrupt')
    // The agent is at a step boundary before the worker hears of the interrupt.
    const delivery = await deliverFollowups(db, held)
    assert.deepEqual(delivery, { interrupt: await pending(held) })
    await obey(held)
    assert.equal(await pending(held), null)
    assert.deepEqual(await deliver(held), ['instead'])
    assert.deepEqual(await story(held), ['Do it.', 'interrupted', 'instead'])
  })

  test('what was accepted before it and not delivered is not part of the turn it stops', async () => {
    const held = await work()
    await say(held, 'one', 'enqueue')
    await say(held, 'two', 'interrupt')
    await say(held, 'three', 'enqueue')
    await obey(held)
    assert.deepEqual(await deliver(held), ['one', 'two', 'three'])
    assert.deepEqual(await story(held), ['Do it.', 'interrupted', 'one', 'two', 'three'])
  })

  test('what was delivered before it is', async () => {
    const held = await work()
    await say(held, 'one', 'enqueue')
    assert.deepEqual(await deliver(held), ['one'])
    await interrupt(db, held.run_id, held.principal_id)
    await obey(held)
    assert.deepEqual(await story(held), ['Do it.', 'one', 'interrupted'])
  })

  test('each has its number: the same one is stored once, however often it is said', async () => {
    const held = await work()
    assert.equal(await acknowledgeInterrupt(db, held, 3), false)
    await interrupt(db, held.run_id, held.principal_id)
    await interrupt(db, held.run_id, held.principal_id)
    const first = await obey(held)
    assert.equal(
      await acknowledgeInterrupt(db, held, first),
      true,
      'Said again, since the answer was not heard.',
    )
    await interrupt(db, held.run_id, held.principal_id)
    const second = await pending(held)
    assert(typeof second === 'number' && second > first)
    assert.equal(await acknowledgeInterrupt(db, held, first), true)
    assert.equal(await pending(held), second)
    await obey(held)
    assert.deepEqual(await story(held), ['Do it.', 'interrupted', 'interrupted'])
  })

  const handovers: Array<[string, (held: Held) => Promise<unknown>]> = [
    [
      'the worker is lost',
      async (held) => {
        await retireWorker(db, held.worker_id)
        await requeueLost(db, (run_id) => assert.fail(run_id))
      },
    ],
    ['the worker stops', (held) => requeueRun(db, held, 'The worker is stopping.', false)],
    ['the attempt fails', (held) => requeueRun(db, held, 'It failed.', true)],
  ]
  for (const [name, handOver] of handovers) {
    test(`outlives the attempt when ${name}`, async () => {
      const held = await work()
      await interrupt(db, held.run_id, held.principal_id)
      await handOver(held)
      const next = await claimAgain(held)
      await obey(next)
      assert.equal(await finishRun(db, next, { state: 'BLOCKED' }), 'finished')
      assert.deepEqual(await story(held), ['Do it.', 'interrupted'])
    })

    test(`and its message goes on with the next attempt when ${name}`, async () => {
      const held = await work()
      await say(held, 'instead', 'interrupt')
      await handOver(held)
      const next = await claimAgain(held)
      await obey(next)
      assert.equal(await finishRun(db, next, { state: 'BLOCKED' }), 'undelivered')
      assert.deepEqual(await deliver(next), ['instead'])
    })
  }

  for (const [state, end] of [
    ['SUCCEEDED', (held: Held) => finishRun(db, held, { state: 'SUCCEEDED' })],
    ['CANCELLED', (held: Held) => cancel(db, held.run_id, held.principal_id)],
  ] as const) {
    test(`is over when the run is ${state}`, async () => {
      const held = await work()
      await interrupt(db, held.run_id, held.principal_id)
      await end(held)
      assert.equal((await readStored(db, held.run_id)).interrupt_sequence, null)
    })
  }
})

onPostgres('a run that changes while it is interrupted', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  test('is refused with the end it came to', async () => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    let interrupting: Promise<unknown> = Promise.resolve()
    await transact(db, async (trx) => {
      await finishRun(trx, held, { state: 'SUCCEEDED' })
      interrupting = interrupt(db, held.run_id, held.principal_id)
      interrupting.catch(() => {})
      await waitForLock(db)
    })
    await assert.rejects(interrupting, { detail: 'The run has already ended: it is SUCCEEDED.' })
  })

  test('is interrupted where it has begun by the second look, though it was queued at the first', async () => {
    const pool = randomUUID()
    const principal_id = await addPrincipal(db)
    const run_id = await addRun(db, principal_id, { pool })
    const worker = await addWorker(db, { pool })
    let interrupting: Promise<unknown> = Promise.resolve()
    await transact(db, async (trx) => {
      // Only the second look reads the names of people.
      await sql`lock table principals in access exclusive mode`.execute(trx)
      interrupting = interrupt(db, run_id, principal_id)
      interrupting.catch(() => {})
      await waitForLock(db)
      const [lease] = await claimRuns(trx, worker, 1)
      assert(lease && (await startRun(trx, lease, { harness: 'runbook' })))
    })
    await interrupting
    assert.notEqual((await readStored(db, run_id)).interrupt_sequence, null)
  })
})
