import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { onEitherDatabase } from '../../test/support/databases.ts'
import {
  actorOf,
  cancel,
  follow,
  holdRun,
  interrupt,
  readOpenMessages,
  readStored,
  readWholeLog,
} from '../../test/support/stored.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { Db } from './db.ts'
import { appendEvents, readLog, writeOpenMessages } from './events.ts'
import { deliverFollowups } from './followups.ts'
import { claimRuns, type Lease, releaseRun } from './leases.ts'
import { listRuns } from './run-list.ts'
import { findRun } from './runs.ts'
import { finishRun, startRun } from './transitions.ts'

const output = (text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id: 't', stream: 'stdout', text },
})
const usage: NewEvent = {
  type: 'usage',
  data: { model_id: 'm', input_tokens: 3, output_tokens: 4, total_tokens: 7, inference_cost_usd: 0.5 },
}
const textsOf = (events: RunEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'tool.output' ? [event.data.text] : []))
const idsOf = (events: RunEvent[], type: 'followup.accepted' | 'followup.delivered'): string[] =>
  events.flatMap((event) => (event.type === type ? [event.data.followup_id] : []))

onEitherDatabase('events', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })
  const logOf = (run_id: string) => readWholeLog(db, run_id)
  const startWork = async () => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    return held
  }
  const assertNoGaps = async (run_id: string): Promise<RunEvent[]> => {
    const log = await logOf(run_id)
    assert.deepEqual(
      log.map((event) => event.sequence),
      log.map((_, index) => index + 1),
    )
    assert.equal((await readStored(db, run_id)).last_sequence, log.length)
    return log
  }

  test('a batch that is sent again is stored once', async () => {
    const held = await startWork()
    for (let tries = 0; tries < 3; tries += 1) {
      assert.equal(
        await appendEvents(db, held, 1, [output('a'), output('b')]),
        tries === 0 ? 'stored' : 'waiting',
      )
    }
    assert.equal(await appendEvents(db, held, 2, [output('c')]), 'stored')
    assert.equal(await appendEvents(db, held, 1, [output('late')]), 'waiting', 'It was stored long ago.')
    assert.equal(await appendEvents(db, held, 3, []), 'waiting')
    assert.deepEqual(textsOf(await assertNoGaps(held.run_id)), ['a', 'b', 'c'])
  })

  test('batches of the next attempt begin anew', async () => {
    const held = await startWork()
    await appendEvents(db, held, 7, [output('first')])
    await finishRun(db, held, { state: 'SUCCEEDED' })
    await releaseRun(db, held)
    await follow(db, held.run_id, held.principal_id)
    const [lease] = await claimRuns(db, held, 1)
    assert(lease)
    // The follow-up is not delivered yet.
    assert.equal(await appendEvents(db, lease, 1, [output('second')]), 'waiting')
    assert.deepEqual(textsOf(await assertNoGaps(held.run_id)), ['first', 'second'])
  })

  test('usage adds up to whatever it is told to be, as far as numbers go', async () => {
    const held = await startWork()
    const most = Number.MAX_SAFE_INTEGER
    const use = (batch: number, ...tokens: number[]) =>
      appendEvents(
        db,
        held,
        batch,
        tokens.map((count) => ({
          type: 'usage',
          data: { model_id: 'm', input_tokens: count, output_tokens: count, total_tokens: count },
        })),
      )
    const total = async () => {
      const actor = actorOf(held.principal_id)
      const whole = await findRun(db, held.run_id, actor)
      const { runs } = await listRuns(db, { creator: held.principal_id }, actor)
      for (const run of [whole, runs[0]]) assert.deepEqual(run?.output_tokens, whole?.input_tokens)
      return whole?.input_tokens
    }
    assert(await use(1, 3e9))
    assert.equal(await total(), 3e9)
    assert(await use(2, 2e9, 2e9))
    assert.equal(await total(), 7e9)
    assert(await use(3, most, most, most))
    assert.equal(await total(), most)
    assert(await use(4, most))
    assert.equal(await total(), most)
  })

  test('usage shows in the run and moves updated_at; output does neither', async () => {
    const held = await startWork()
    const before = await readStored(db, held.run_id)
    await appendEvents(db, held, 1, [output('x')])
    const printed = await readStored(db, held.run_id)
    assert.deepEqual(printed, { ...before, last_sequence: before.last_sequence + 1 })
    await appendEvents(db, held, 2, [usage, output('y'), usage])
    const used = await readStored(db, held.run_id)
    assert.equal(used.input_tokens, 6)
    assert(used.updated_at > before.updated_at)
  })

  test('what a program prints is kept as it is', async () => {
    const held = await startWork()
    const texts = [
      '"quotes" \\ \\u0000 \\ud800',
      'a\tb\r\nc',
      '€ 🦊 \u2028',
      "'; drop table runs; --",
      '$1 %s {0}',
    ]
    await appendEvents(db, held, 1, texts.map(output))
    assert.deepEqual(textsOf(await logOf(held.run_id)), texts)
  })

  test('sequences have no gaps, and each follow-up is delivered once, with everybody writing at once', async () => {
    const held = await startWork()
    const { run_id, principal_id } = held
    const writer = async () => {
      for (let batch = 1; batch <= 20; batch += 1) {
        assert.notEqual(
          await appendEvents(db, held, batch, [output(`${batch}a`), output(`${batch}b`)]),
          'lost',
        )
      }
    }
    const author = async () => {
      for (let i = 0; i < 6; i += 1) await follow(db, run_id, principal_id)
    }
    const deliverer = async () => {
      for (let i = 0; i < 12; i += 1) assert.notEqual(await deliverFollowups(db, held), null)
    }
    await Promise.all([writer(), author(), author(), author(), author(), author(), deliverer(), deliverer()])
    await deliverFollowups(db, held)
    await Promise.all([
      cancel(db, run_id, principal_id),
      follow(db, run_id, principal_id),
      interrupt(db, run_id, principal_id).catch(() => {}),
      follow(db, run_id, principal_id),
    ])
    const log = await assertNoGaps(run_id)
    const accepted = idsOf(log, 'followup.accepted')
    assert.equal(accepted.length, 32)
    const delivered = idsOf(log, 'followup.delivered')
    assert.deepEqual(delivered, accepted.slice(0, 30))
    const told = log.flatMap((event) => (event.type === 'message.user' ? [event.data.followup_id] : []))
    assert.deepEqual(told, [undefined, ...delivered])
    assert.equal(textsOf(log).join(), Array.from({ length: 20 }, (_, i) => `${i + 1}a,${i + 1}b`).join())
    assert.equal((await readStored(db, run_id)).undelivered, 2)
  })

  test('messages that are more than a page are delivered at once, in order', async () => {
    const held = await startWork()
    const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(3 * 1024 ** 2))
    for (const message of texts) await follow(db, held.run_id, held.principal_id, { message })
    const delivery = await deliverFollowups(db, held)
    assert(typeof delivery === 'object' && 'messages' in delivery)
    assert.deepEqual(
      delivery.messages.map(({ data }) => data.text),
      texts,
    )
  })

  test('the log is settled when the run has ended and its worker has let go', async () => {
    const held = await startWork()
    const settled = async () => (await readLog(db, held.run_id, 0, 100))?.settled
    assert.equal(await settled(), false)
    await cancel(db, held.run_id, held.principal_id)
    assert.equal(await settled(), false)
    await appendEvents(db, held, 1, [output('last words')])
    await releaseRun(db, held)
    const page = await readLog(db, held.run_id, 3, 100)
    const log = await logOf(held.run_id)
    assert.deepEqual(page, {
      events: log.slice(3),
      has_more: false,
      last_sequence: log.length,
      settled: true,
    })
    assert.equal(await readLog(db, randomUUID(), 0, 100), null)
    await follow(db, held.run_id, held.principal_id)
    assert.equal(await settled(), false)
  })

  test('reading after any number is reading after it', async () => {
    const { run_id } = await startWork()
    for (const after of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
      const page = await readLog(db, run_id, after, 10)
      assert.deepEqual([page?.events, page?.has_more], [[], false])
    }
  })

  test('a page says from the log, not from its length, whether there is more', async () => {
    const { run_id } = await startWork()
    const log = await logOf(run_id)
    for (const limit of [1, log.length - 1, log.length, log.length + 1]) {
      const page = await readLog(db, run_id, 0, limit)
      assert.deepEqual(
        [page?.events.length, page?.has_more],
        [Math.min(limit, log.length), limit < log.length],
      )
    }
  })

  test('a page ends with its bytes, and has one event at least', async () => {
    const held = await startWork()
    const { last_sequence } = await readStored(db, held.run_id)
    const mebibyte = randomBytes(512 * 1024).toString('hex')
    for (let batch = 1; batch <= 6; batch += 1) await appendEvents(db, held, batch, [output(mebibyte)])
    await appendEvents(db, held, 7, [output(mebibyte.repeat(6)), output('small')])
    const lengths: number[] = []
    for (let after = last_sequence, more = true; more; ) {
      const page = await readLog(db, held.run_id, after, 100)
      assert(page)
      lengths.push(page.events.length)
      after = page.events.at(-1)?.sequence ?? 0
      more = page.has_more
    }
    // An event that begins within 4 MiB is in it: four, which are a little more than that, then two and the large one.
    assert.deepEqual(lengths, [4, 3, 1])
    assert.equal(textsOf(await assertNoGaps(held.run_id)).join('').length, 12 * 1024 ** 2 + 5)
  })

  test('a message on its way is there until it is complete, or its attempt is over', async () => {
    const held = await startWork()
    const write = (message_id: string, text: string) => writeOpenMessages(db, held, [{ message_id, text }])
    assert.equal(await write('a', 'Hel'), true)
    assert.equal(await write('a', 'Hello'), true)
    await write('b', 'Bye')
    const both = [
      { message_id: 'a', text: 'Hello' },
      { message_id: 'b', text: 'Bye' },
    ]
    assert.deepEqual(await readOpenMessages(db, held.run_id), both)
    await appendEvents(db, held, 1, [
      { type: 'message.assistant', data: { message_id: 'a', text: 'Hello!' } },
    ])
    assert.deepEqual(await readOpenMessages(db, held.run_id), both.slice(1))
    await finishRun(db, held, { state: 'SUCCEEDED' })
    await releaseRun(db, held)
    assert.deepEqual(await readOpenMessages(db, held.run_id), [])
  })

  test('updated_at grows even when the clock stands still or goes back', async () => {
    const held: Lease & { principal_id: string } = await holdRun(db)
    await sql`update runs set updated_at = clock_timestamp() + interval '1 hour' where run_id = ${held.run_id}`.execute(
      db,
    )
    let { updated_at } = await readStored(db, held.run_id)
    for (let i = 0; i < 3; i += 1) {
      await follow(db, held.run_id, held.principal_id)
      const next = (await readStored(db, held.run_id)).updated_at
      assert(next > updated_at)
      updated_at = next
    }
  })
})
