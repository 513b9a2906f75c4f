import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConversationStep } from '../contract/conversation.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import { buildConversation } from './conversation.ts'
import { endOfPage } from './conversation-page.ts'

const said = (message_id: string, text = message_id): NewEvent => ({
  type: 'message.assistant',
  data: { message_id, text },
})
const asked = (message_id: string): NewEvent => ({
  type: 'message.user',
  data: { message_id, text: message_id },
})
const called = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: {} },
})
const printed = (tool_call_id: string, text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id, stream: 'stdout', text },
})
const ended = (tool_call_id: string): NewEvent => ({
  type: 'tool.result',
  data: { tool_call_id, is_error: false },
})
const setup: NewEvent = { type: 'setup', data: { phase: 'sandbox', name: 'x', status: 'finished' } }
const lost: NewEvent = { type: 'attempt.lost', data: { attempt: 1, reason: 'x' } }
const state = (next: 'QUEUED' | 'SUCCEEDED'): NewEvent => ({
  type: 'run.state',
  data: { state: next, execution: 1, attempt: 1 },
})
const usage: NewEvent = {
  type: 'usage',
  data: { model_id: 'm', input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}

const logOf = (run_id: string, ...events: NewEvent[]): RunEvent[] =>
  events.map(
    (event, index) =>
      ({ run_id, sequence: index + 1, occurred_at: '2026-01-01T00:00:00.000Z', ...event }) as RunEvent,
  )

/** Two runs: two messages, calls side by side, a text that breaks off and is taken back, an answer. */
const LOG: RunEvent[] = [
  ...logOf('r1', state('QUEUED'), setup, asked('u1'), setup, said('t1'), called('a'), called('b')),
  ...logOf('r1', usage, ended('b'), ended('a'), said('torn'), lost, state('QUEUED'), said('torn', '')),
  ...logOf(
    'r1',
    said('t2'),
    usage,
    asked('u2'),
    called('c'),
    usage,
    ended('c'),
    said('t3'),
    usage,
    state('SUCCEEDED'),
  ),
  ...logOf('r2', state('QUEUED'), asked('u3'), said('t4'), usage, state('SUCCEEDED'), setup),
]
const WHOLE = buildConversation('c', LOG).conversation.steps

/** What a reader of pages makes of them. */
function join(pages: ConversationStep[][]): ConversationStep[] {
  const steps: ConversationStep[] = []
  for (const step of pages.flat()) {
    const open = steps.at(-1)
    if (open?.step !== step.step) {
      steps.push(structuredClone(step))
      continue
    }
    for (const message of structuredClone(step.messages)) {
      const last = open.messages.at(-1)
      if (last?.role === message.role && last.run_id === message.run_id) last.blocks.push(...message.blocks)
      else open.messages.push(message)
    }
  }
  return steps
}

/** Read `size` events at a time, as many of them taken as make a page. */
function readPages(size: number): ConversationStep[][] {
  const pages: ConversationStep[][] = []
  let begin: Parameters<typeof buildConversation>[3]
  for (let from = 0; from < LOG.length; ) {
    const part = LOG.slice(from, from + size)
    const has_more = from + part.length < LOG.length
    const events = has_more ? part.slice(0, endOfPage(part)) : part
    const { conversation, end } = buildConversation('c', events, [], begin)
    pages.push(conversation.steps)
    begin = end
    from += events.length
  }
  return pages
}

describe('a conversation', () => {
  test('has a step for each message of the caller', () => {
    assert.deepEqual(
      WHOLE.map(({ step, messages }) => [step, messages.map(({ role }) => role)]),
      [
        [1, ['system', 'user', 'system', 'assistant', 'system', 'assistant']],
        [2, ['user', 'assistant']],
        [3, ['user', 'assistant', 'system']],
      ],
    )
  })

  for (const size of [7, 8, 9, 12, 15, LOG.length]) {
    test(`read ${size} events at a time, joins to the same steps`, () => {
      assert.deepEqual(join(readPages(size)), WHOLE)
    })
  }

  test('keeps its step numbers wherever it is cut', () => {
    for (let cut = 1; cut < LOG.length; cut += 1) {
      const first = buildConversation('c', LOG.slice(0, cut))
      const second = buildConversation('c', LOG.slice(cut), [], first.end)
      const joined = join([first.conversation.steps, second.conversation.steps])
      assert.deepEqual(
        joined.map(({ step, messages }) => [step, messages[0]?.message_id]),
        WHOLE.map(({ step, messages }) => [step, messages[0]?.message_id]),
      )
    }
  })

  test('has the end of what a call printed, in whole characters, and says that it is cut', () => {
    const results = (text: string) =>
      buildConversation('c', logOf('r', called('a'), ended('a')), logOf('r', printed('a', text)))
        .conversation.steps.flatMap(({ messages }) => messages.flatMap(({ blocks }) => blocks))
        .filter((block) => block.type === 'action_result')
    const fits = 'x'.repeat(64 * 1024)
    assert.deepEqual(results(fits), [
      { type: 'action_result', action_id: 'a', is_error: false, output: fits },
    ])
    const [cut] = results(`${'🦊'.repeat(16 * 1024)}é`)
    assert.equal(cut?.output_truncated, true)
    // A fox has four bytes and does not fit whole beside the last letter's two.
    assert.equal(cut.output, `${'🦊'.repeat(16 * 1024 - 1)}é`)
  })
})

describe('a page of a conversation', () => {
  const end = (...events: NewEvent[]) => endOfPage(logOf('r', ...events))

  test('ends before the last message of the caller', () => {
    assert.equal(end(asked('u'), said('t'), usage, asked('v'), called('a'), usage, ended('a'), said('w')), 3)
  })
  test('does not end where a command used a model by the gateway', () => {
    const used: NewEvent = { ...usage, data: { ...usage.data, by_gateway: true } }
    assert.equal(end(asked('u'), called('a'), ended('a'), said('t'), used, lost), 3)
    assert.equal(end(asked('u'), called('a'), ended('a'), said('t'), usage, lost), 5)
  })
  test('ends, where its only step goes on, with all calls ended and no text that may be taken back', () => {
    assert.equal(end(asked('u'), called('a'), called('b'), ended('a'), ended('b'), said('t'), lost), 5)
    assert.equal(end(asked('u'), said('t'), lost, said('t', ''), setup, called('a')), 5)
  })
  test('is not empty', () => {
    assert.equal(end(state('QUEUED'), asked('u'), called('a'), ended('a')), 2)
    assert.equal(end(state('QUEUED'), setup, asked('u'), called('a')), 2)
  })
  test('ends anywhere, where there is no such place', () => {
    assert.equal(end(called('a'), called('b'), ended('a')), 3)
    assert.equal(end(called('a'), called('b'), ended('b'), asked('u'), called('c')), 5)
  })
  test('is not held up by what another run has left open', () => {
    const events = [...logOf('r1', asked('u'), called('a')), ...logOf('r2', asked('v'), called('b'))]
    assert.equal(endOfPage(events), 2)
  })
})
