import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { actorOf, addPrincipal, addRun, holdRun } from '../../test/support/stored.ts'
import { OUTPUT_BYTES } from '../contract/conversation.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import { readConversation } from './conversation.ts'
import type { Db } from './db.ts'
import { appendEvents, readOwnHistory } from './events.ts'
import type { LogPart } from './runs.ts'
import { startRun } from './transitions.ts'

const KIB = 1024
const random = (bytes: number): string => randomBytes(bytes / 2).toString('hex')
const called = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: {} },
})
const printed = (tool_call_id: string, text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id, stream: 'stdout', text },
})
const ended = (tool_call_id: string, output?: string): NewEvent => ({
  type: 'tool.result',
  data: { tool_call_id, is_error: false, exit_code: 0, ...(output === undefined ? {} : { output }) },
})
const textOf = (events: RunEvent[], id: string): string =>
  events
    .flatMap((event) =>
      event.type === 'tool.output' && event.data.tool_call_id === id ? [event.data.text] : [],
    )
    .join('')

onEitherDatabase('conversation', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })

  /** A working run with these events; each is a batch of its own. */
  const addLog = async (...events: NewEvent[]) => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    for (const [index, event] of events.entries()) await appendEvents(db, held, index + 1, [event])
    return held
  }
  const readParts = async (conversation_id: string, principal_id: string) => {
    const parts = []
    for (let after: LogPart | undefined; ; ) {
      const part = await readConversation(db, conversation_id, actorOf(principal_id), after)
      parts.push(part)
      after = part.events.at(-1)
      if (!part.has_more) return parts
      assert(after)
    }
  }

  test('a conversation is the runs of it that one may see', async () => {
    const [owner, stranger] = [await addPrincipal(db), await addPrincipal(db)]
    const first = await addRun(db, owner)
    const second = await addRun(db, stranger, { conversation_id: first, scope: 'User' })
    const third = await addRun(db, owner, { conversation_id: first })
    // A run that was asked for before its conversation became personal is personal all the same.
    const late = await addRun(db, stranger, { conversation_id: first, scope: 'Team' })
    const runsOf = async (principal_id: string) => {
      const { events } = await readConversation(db, first, actorOf(principal_id))
      return [...new Set(events.map((event) => event.run_id))]
    }
    assert.deepEqual(await runsOf(stranger), [first, second, third, late])
    assert.deepEqual(await runsOf(owner), [first, third])
  })

  test('it goes on after any event of any of its runs', async () => {
    const owner = await addPrincipal(db)
    const conversation_id = await addRun(db, owner)
    for (let i = 0; i < 2; i += 1) await addRun(db, owner, { conversation_id })
    const whole = (await readConversation(db, conversation_id, actorOf(owner))).events
    assert.equal(whole.length, 6)
    for (const [index, after] of whole.entries()) {
      const part = await readConversation(db, conversation_id, actorOf(owner), after)
      assert.deepEqual(part, { events: whole.slice(index + 1), before: [], has_more: false })
    }
  })

  test('of what a call printed the end comes with its result, however large the pieces are', async () => {
    const large = random(OUTPUT_BYTES)
    const held = await addLog(
      called('many'),
      ...Array.from({ length: 20 }, (_, i) => printed('many', `${i}`.repeat(8 * KIB))),
      ended('many'),
      called('last'),
      printed('last', 'lost'),
      printed('last', large),
      printed('last', 'x'),
      ended('last'),
      called('huge'),
      printed('huge', random(200 * KIB)),
      ended('huge'),
      called('other'),
      printed('other', 'not this'),
      ended('other', 'in other words'),
    )
    const { before: read } = await readConversation(db, held.run_id, actorOf(held.principal_id))
    assert(textOf(read, 'many').endsWith('19'.repeat(8 * KIB)))
    assert(textOf(read, 'many').length >= OUTPUT_BYTES && textOf(read, 'many').length < 2 * OUTPUT_BYTES)
    assert.equal(textOf(read, 'last'), `${large}x`)
    assert.equal(textOf(read, 'huge').length, 200 * KIB)
    assert.equal(textOf(read, 'other'), '')
    // So has the history that a next attempt begins with.
    const history = await readOwnHistory(db, held.run_id)
    for (const id of ['many', 'last', 'huge']) assert.equal(textOf(history, id), textOf(read, id))
  })

  test('a part ends with its bytes, those of outputs included, and the next one goes on', async () => {
    const steps = Array.from({ length: 100 }, (_, i) => [
      called(`c${i}`),
      printed(`c${i}`, random(60 * KIB)),
      ended(`c${i}`),
    ])
    const held = await addLog(...steps.flat())
    const parts = await readParts(held.run_id, held.principal_id)
    const sizes = parts.map((part) => JSON.stringify(part).length)
    assert.equal(parts.length, 2)
    assert(Math.max(...sizes) < 4.5 * 1024 * KIB, `A part has ${Math.max(...sizes)} bytes.`)
    const events = parts.flatMap((part) => part.events)
    const sequences = events.map(({ sequence }) => sequence)
    assert.deepEqual(
      sequences,
      [...new Set(sequences)].sort((a, b) => a - b),
    )
    for (let i = 0; i < 100; i += 1) {
      const [part, ...others] = parts.filter(({ events }) =>
        events.some((event) => event.type === 'tool.result' && event.data.tool_call_id === `c${i}`),
      )
      assert.equal(others.length, 0)
      assert.equal(textOf(part?.before ?? [], `c${i}`).length, 60 * KIB)
    }
  })

  test('an event that is a page by itself is one', async () => {
    const said = (message_id: string): NewEvent => ({
      type: 'message.assistant',
      data: { message_id, text: random(5 * 1024 * KIB) },
    })
    const held = await addLog(
      said('a'),
      said('b'),
      called('c'),
      printed('c', random(5 * 1024 * KIB)),
      ended('c'),
    )
    const parts = await readParts(held.run_id, held.principal_id)
    const types = parts.map(({ events }) => events.map(({ type }) => type).slice(-2))
    assert.deepEqual(types.slice(-3), [
      ['run.state', 'message.assistant'],
      ['message.assistant'],
      ['tool.call', 'tool.result'],
    ])
    assert.equal(textOf(parts.at(-1)?.before ?? [], 'c').length, 5 * 1024 * KIB)
  })
})
