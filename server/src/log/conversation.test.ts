import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConversationStep } from '../contract/conversation.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import { buildConversation } from './conversation.ts'
import { endOfPage } from './conversation-page.ts'
import { DENIED_BY_USER } from './denial.ts'

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
    if (open?.id !== step.id) {
      steps.push(structuredClone(step))
      continue
    }
    for (const message of structuredClone(step.messages)) {
      const last = open.messages.at(-1)
      if (last?.role === message.role && last.run_id === message.run_id) {
        last.content.push(...message.content)
        last.message_ids.push(...message.message_ids)
      } else open.messages.push(message)
    }
    open.description ??= step.description
    if (step.completed_at) open.completed_at = step.completed_at
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
      WHOLE.map(({ id, messages }) => [id, messages.map(({ role }) => role)]),
      [
        ['c:1', ['system', 'user', 'system', 'assistant', 'tool', 'system', 'assistant']],
        ['c:2', ['user', 'assistant', 'tool', 'assistant']],
        ['c:3', ['user', 'assistant', 'system']],
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
        joined.map(({ id, messages }) => [id, messages[0]?.message_ids[0]]),
        WHOLE.map(({ id, messages }) => [id, messages[0]?.message_ids[0]]),
      )
    }
  })

  test('says of what kind each action was and how it ended, in the shapes of the published client', () => {
    const used = (id: string, name: string, input: Record<string, unknown>): NewEvent => ({
      type: 'tool.call',
      data: { tool_call_id: id, name, input },
    })
    const failed = (id: string, output: string, more = {}): NewEvent => ({
      type: 'tool.result',
      data: { tool_call_id: id, is_error: true, output, ...more },
    })
    const thought: NewEvent = { type: 'reasoning', data: { message_id: 't', text: 'Hm.' } }
    const [whole] = buildConversation(
      'c',
      [
        ...logOf('r', asked('Do it.'), thought, used('a', 'bash', { command: 'ls' })),
        ...logOf('r', used('b', 'docs__find', {}), ended('a'), failed('b', DENIED_BY_USER)),
        ...logOf(
          'r',
          used('d', 'Edit', {}),
          failed('d', DENIED_BY_USER, { exit_code: 1 }),
          failed('e', 'no'),
        ),
      ],
      logOf('r', used('e', 'load_skill', {})),
    ).conversation.steps
    const at = '2026-01-01T00:00:00.000Z'
    const message = (role: string, message_ids: string[], ...content: object[]) => ({
      role,
      content,
      message_ids,
      run_id: 'r',
      timestamp: at,
    })
    const result = (action_id: string, category: string, name: string, state: string, output: object) => ({
      type: 'action_result',
      action_id,
      category,
      name,
      state,
      output,
    })
    assert.deepEqual(whole, {
      ...{ id: 'c:1', description: 'Do it.', started_at: at, completed_at: at, steps: [] },
      messages: [
        message('user', ['Do it.'], { type: 'text', text: 'Do it.', message_id: 'Do it.' }),
        message(
          'assistant',
          ['t', 'a', 'b'],
          { type: 'event', name: 'reasoning', data: { text: 'Hm.' }, message_id: 't' },
          { type: 'action', id: 'a', category: 'command', name: 'bash', input: { command: 'ls' } },
          { type: 'action', id: 'b', category: 'integration', name: 'docs__find', input: {} },
        ),
        message(
          'tool',
          ['a', 'b'],
          result('a', 'command', 'bash', 'completed', { text: '' }),
          result('b', 'integration', 'docs__find', 'denied', { text: DENIED_BY_USER }),
        ),
        message('assistant', ['d'], { type: 'action', id: 'd', category: 'files', name: 'Edit', input: {} }),
        message(
          'tool',
          ['d', 'e'],
          result('d', 'files', 'Edit', 'failed', { text: DENIED_BY_USER, exit_code: 1 }),
          // Its call was on the page before.
          result('e', 'skill', 'load_skill', 'failed', { text: 'no' }),
        ),
      ],
    })
  })

  test('has the end of what a call printed, in whole characters, and says that it is cut', () => {
    const results = (text: string) =>
      buildConversation('c', logOf('r', called('a'), ended('a')), logOf('r', printed('a', text)))
        .conversation.steps.flatMap(({ messages }) => messages.flatMap(({ content }) => content))
        .flatMap((block) => (block.type === 'action_result' ? [block.output] : []))
    const fits = 'x'.repeat(64 * 1024)
    assert.deepEqual(results(fits), [{ text: fits }])
    const [cut] = results(`${'🦊'.repeat(16 * 1024)}é`)
    // A fox has four bytes and does not fit whole beside the last letter's two.
    assert.deepEqual(cut, { text: `${'🦊'.repeat(16 * 1024 - 1)}é`, is_truncated: true })
  })

  test('tells the calls of two runs apart that have the same id', () => {
    const runs = ['r', 's']
    const { conversation } = buildConversation(
      'c',
      runs.flatMap((run_id) => logOf(run_id, asked(run_id), called('call_1'), ended('call_1'))),
      runs.flatMap((run_id) => logOf(run_id, printed('call_1', run_id))),
    )
    const blocks = conversation.steps.flatMap(({ messages }) => messages.flatMap(({ content }) => content))
    assert.deepEqual(
      blocks.flatMap((block) => (block.type === 'action_result' ? [block.output.text] : [])),
      runs,
    )
  })
})

describe('a call that has no result', () => {
  const approval = (tool_call_id: string): NewEvent => ({
    type: 'approval.requested',
    data: {
      ...{ approval_id: 'p', tool_call_id, tool: 'bash', title: 'x' },
      rule: { tool: 'bash', action: 'ask' },
    },
  })
  const answered = (decision: 'allow_once' | 'deny'): NewEvent => ({
    type: 'approval.answered',
    data: { approval_id: 'p', decision, author: 'x' },
  })
  const runningIn = (is_last: boolean, ...events: NewEvent[]) => {
    const log = logOf('r', asked('u'), ...events)
    const { steps } = buildConversation('c', log, [], undefined, is_last).conversation
    const blocks = steps.flatMap(({ messages }) => messages.flatMap(({ content }) => content))
    const running = blocks.flatMap((block) =>
      block.type === 'action_result' && block.state === 'running' ? [block.action_id] : [],
    )
    assert.equal(steps.at(-1)?.completed_at === undefined, running.length > 0)
    return running
  }

  test('runs, on the last page', () => {
    assert.deepEqual(runningIn(true, called('a'), called('b'), ended('a')), ['b'])
    assert.deepEqual(runningIn(false, called('a')), [])
  })
  test('does not run once its turn or its worker is gone', () => {
    assert.deepEqual(runningIn(true, called('a'), lost), [])
    assert.deepEqual(runningIn(true, called('a'), state('SUCCEEDED')), [])
  })
  test('does not run while a person is asked, nor when they deny it', () => {
    assert.deepEqual(runningIn(true, called('a'), approval('a')), [])
    assert.deepEqual(runningIn(true, called('a'), approval('a'), answered('deny')), [])
    assert.deepEqual(runningIn(true, called('a'), approval('a'), answered('allow_once')), ['a'])
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
