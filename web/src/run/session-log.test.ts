import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunEvent, RunItem } from '@runyard/client'
import type { Entry } from './entry.ts'
import { summarisePlan } from './plan-steps.ts'
import { SessionLog } from './session-log.ts'

const OPENED = Date.parse('2026-01-01T00:00:10.000Z')
let sequence = 0

/** An event as the service would send it, so many seconds after midnight. */
function event<T extends RunEvent['type']>(
  type: T,
  data: Extract<RunEvent, { type: T }>['data'],
  second = 0,
): RunEvent {
  sequence += 1
  const occurred_at = new Date(Date.parse('2026-01-01T00:00:00.000Z') + second * 1000).toISOString()
  return { sequence, run_id: 'run', type, occurred_at, data } as RunEvent
}

function readLog(...events: RunEvent[]): SessionLog {
  const log = new SessionLog('ann', { state: 'QUEUED', execution: 1 }, OPENED)
  for (const each of events) log.apply(each)
  return log
}
const kinds = (log: SessionLog) => log.view.entries.map(({ kind }) => kind)
const last = <K extends Entry['kind']>(log: SessionLog, kind: K) =>
  log.view.entries.findLast((entry) => entry.kind === kind) as Extract<Entry, { kind: K }>
const state = (
  name: 'CLAIMED' | 'INPROGRESS' | 'SUCCEEDED' | 'BLOCKED' | 'QUEUED' | 'CANCELLED',
  second: number,
) => event('run.state', { state: name, execution: 1, attempt: 1 }, second)

test('a message that comes in pieces becomes the message that is stored, in its place', () => {
  const log = readLog()
  const delta = (offset: number, text: string) =>
    log.apply({
      type: 'message.assistant.delta',
      run_id: 'run',
      data: { message_id: 'm1', offset, text },
    })
  delta(0, 'Hel')
  delta(3, 'lo')
  // After a reconnect the text comes from its start.
  delta(0, 'Hello wor')
  assert.deepEqual(last(log, 'said'), { kind: 'said', key: 'm1', text: 'Hello wor', is_growing: true })
  log.apply(event('message.assistant', { message_id: 'm1', text: 'Hello world.' }))
  assert.deepEqual(log.view.entries, [{ kind: 'said', key: 'm1', text: 'Hello world.', is_growing: false }])
})

test('another model that goes on is noted, with why it was needed', () => {
  const switched = { from: 'openai/a', to: 'groq/b' }
  const message = 'The account has no credit left.'
  const log = readLog(
    event('model.switched', { ...switched, reason: 'quota', message }),
    event('model.switched', { from: 'groq/b', to: 'openai/a', reason: 'followup' }),
  )
  const notes = log.view.entries.flatMap((entry) =>
    entry.kind === 'note' ? [[entry.tone, entry.text, entry.more]] : [],
  )
  assert.deepEqual(notes, [
    ['warning', 'Switched from openai/a to groq/b', message],
    ['plain', 'Switched from groq/b to openai/a', undefined],
  ])
})

test('an event that comes twice counts once', () => {
  const said = event('message.assistant', { message_id: 'm2', text: 'Once.' })
  const usage = event('usage', { model_id: 'm', input_tokens: 1, output_tokens: 2, total_tokens: 3 })
  const log = readLog(said, said, usage, usage)
  assert.deepEqual(kinds(log), ['said'])
  assert.equal(log.view.tokens, 3)
})

test('a follow-up waits behind the log until the agent is given it', () => {
  const log = readLog(
    event('message.user', { message_id: 'u1', text: 'Begin.' }),
    event('followup.accepted', { followup_id: 'f1', message: 'And this.', outcome: 'live_session' }),
    event('message.assistant', { message_id: 'm3', text: 'Working.' }),
  )
  assert.deepEqual(kinds(log), ['asked', 'said', 'asked'])
  assert.equal(last(log, 'asked').is_waiting, true)
  log.apply(event('message.user', { message_id: 'u2', text: 'And this.', followup_id: 'f1' }))
  assert.deepEqual(
    log.view.entries.map(({ key }) => key),
    ['u1', 'm3', 'f1'],
  )
  assert.equal(last(log, 'asked').is_waiting, false)
})

test('a call that was stopped did not fail, and what was on its way is dropped', () => {
  const log = readLog(
    state('INPROGRESS', 1),
    event('tool.call', { tool_call_id: 't1', name: 'bash', input: { command: 'sleep 9' } }),
    event('tool.output', { tool_call_id: 't1', stream: 'stdout', text: 'so far\n' }),
  )
  assert.equal(log.view.running_tool, 'bash')
  log.apply(event('interrupted', { attempt: 1, by: 'ann' }))
  assert.equal(last(log, 'tool').status, 'stopped')
  log.apply(event('tool.result', { tool_call_id: 't1', is_error: true }))
  assert.equal(last(log, 'tool').status, 'stopped')
  assert.equal(last(log, 'tool').output.blocks[0]?.parts[0]?.text, 'so far\n')
  assert.equal(log.view.running_tool, undefined)
})

test('nor did one whose end was stored right before the interruption', () => {
  const call = (id: string) => event('tool.call', { tool_call_id: id, name: 'bash', input: {} })
  const end = (id: string) => event('tool.result', { tool_call_id: id, is_error: true, exit_code: null })
  const log = readLog(call('t4'), end('t4'), call('t5'), end('t5'), event('interrupted', { attempt: 1 }))
  const statuses = log.view.entries.flatMap((entry) => (entry.kind === 'tool' ? [entry.status] : []))
  assert.deepEqual(statuses, ['failed', 'stopped'])
})

test('a debug turn is no lost attempt, and leaves the run failed', () => {
  const begin = (attempt: number, more: object = {}) =>
    event('attempt.started', { attempt, execution: 1, worker_id: 'w', pool: 'default', ...more })
  const log = readLog(begin(1), event('run.state', { state: 'FAILED', execution: 1, attempt: 1 }))
  const { milestones } = log.view
  log.apply(begin(2, { debug: true }))
  assert.deepEqual([log.view.is_debugged, log.view.lost_attempts, log.view.state], [true, 0, 'FAILED'])
  log.apply(event('tool.call', { tool_call_id: 't1', name: 'bash', input: {} }))
  log.apply(event('debug.ended', { attempt: 2, outcome: 'ERROR', undelivered: 1 }))
  assert.deepEqual([log.view.is_debugged, log.view.running_tool], [false, undefined])
  assert(log.view.milestones >= milestones + 2, 'The run is read again, for the end of the window.')
  assert.match(JSON.stringify(last(log, 'note')), /The debug turn ended: ERROR.*1 of the messages/)
})

test('a call that is named like one of a lost attempt gets an entry of its own', () => {
  const call = () => event('tool.call', { tool_call_id: 't2', name: 'bash', input: {} })
  const log = readLog(
    call(),
    event('attempt.lost', { attempt: 1, reason: 'The worker is gone.' }),
    call(),
    event('tool.result', { tool_call_id: 't2', is_error: false }),
  )
  assert.deepEqual(kinds(log), ['tool', 'note', 'tool'])
  const [first, , second] = log.view.entries
  assert.notEqual(first?.key, second?.key)
  assert.deepEqual(
    [first, second].map((entry) => entry?.kind === 'tool' && entry.status),
    ['stopped', 'done'],
  )
})

test('a question stands with its answer, and calls behind it have not begun', () => {
  const log = readLog(
    event('tool.call', { tool_call_id: 't3', name: 'bash', input: {} }),
    event('approval.requested', {
      approval_id: 'a1',
      tool_call_id: 't3',
      tool: 'bash',
      rule: { tool: 'bash', action: 'ask' },
    }),
    event('run.state', {
      state: 'BLOCKED',
      execution: 1,
      attempt: 1,
      status_message: { message: 'Asks.', approval: { approval_id: 'a1', tool_call_id: 't3', tool: 'bash' } },
    }),
  )
  assert.deepEqual(kinds(log), ['tool', 'approval'])
  assert.equal(last(log, 'tool').status, 'waiting')
  log.apply(event('approval.answered', { approval_id: 'a1', decision: 'deny', author: 'ben' }))
  assert.equal(last(log, 'approval').answer?.author, 'ben')
})

test('time is what workers spent, over all executions', () => {
  const log = readLog(state('CLAIMED', 1), state('INPROGRESS', 2), state('SUCCEEDED', 5), state('QUEUED', 20))
  assert.equal(log.view.worked_ms, 4000)
  assert.equal(last(log, 'end').worked_ms, 4000)
  log.apply(state('CLAIMED', 30))
  assert.equal(log.view.working_since, Date.parse('2026-01-01T00:00:30.000Z'))
  log.apply(state('CANCELLED', 31))
  assert.equal(log.view.worked_ms, 5000)
  assert.equal(log.view.working_since, 0)
  // What happened before the page was opened is not news.
  assert.equal(log.view.live_events, 3)
})

test('an execution that waited for an answer has worked before and after it', () => {
  const log = readLog(state('CLAIMED', 1), state('BLOCKED', 3), state('QUEUED', 9), state('CLAIMED', 10))
  log.apply(state('SUCCEEDED', 14))
  assert.deepEqual([last(log, 'end').worked_ms, log.view.worked_ms], [6000, 6000])
})

test('answers that are offered stand with the question, until somebody gives one', () => {
  const call = (options: unknown) =>
    event('tool.call', {
      tool_call_id: `c${sequence}`,
      name: 'ask_user',
      input: { question: 'Which?', options },
    })
  const blocked = () =>
    event('run.state', {
      ...{ state: 'BLOCKED' as const, execution: 1, attempt: 1 },
      status_message: { message: 'Which?\n1. A', waits_for: 'answer' as const },
    })
  const log = readLog(call(['A', 'B']), blocked())
  assert.deepEqual(last(log, 'end').question, { text: 'Which?', options: ['A', 'B'], is_open: true })
  log.apply(state('QUEUED', 5))
  assert.equal(last(log, 'end').question?.is_open, false)
  for (const none of [[], undefined, 'A'])
    assert.equal(last(readLog(call(none), blocked()), 'end').question, undefined)
})

test('the plan is the newest that can be read', () => {
  const plan = (steps: unknown) =>
    event('tool.call', { tool_call_id: `c${sequence}`, name: 'plan', input: { steps } })
  const [one, two] = [
    { step: 'Read', status: 'done' },
    { step: 'Write', status: 'pending' },
  ]
  const log = readLog(plan([one]), plan([one, two]), plan('nothing'), plan([{ step: 'Odd' }]))
  assert.deepEqual(log.view.plan, [one, two])
  assert.deepEqual(summarisePlan([one, two] as never), { count: '1 of 2', now: 'Write' })
})

test('setup is one block of steps, and a step that ends replaces its start', () => {
  const log = readLog(
    event('setup', { phase: 'clone', name: 'site', status: 'started' }),
    event('setup', { phase: 'clone', name: 'site', status: 'finished', duration_ms: 5 }),
    event('setup', { phase: 'command', name: 'npm ci', status: 'started' }),
    event('setup', { phase: 'command', name: 'npm ci', status: 'failed', exit_code: 1 }),
  )
  const setup = last(log, 'setup')
  assert.equal(setup.status, 'failed')
  assert.deepEqual(
    setup.steps.map(({ status }) => status),
    ['finished', 'failed'],
  )
})

test('what a step of the setup prints stands at the step, while it runs and afterwards', () => {
  const log = readLog(
    event('setup', { phase: 'clone', name: 'site', status: 'started' }),
    event('setup', { phase: 'clone', name: 'site', status: 'finished' }),
    event('setup', { phase: 'command', name: 'npm ci', status: 'started' }),
    event('setup.output', { stream: 'stdout', text: 'one\ntw' }),
    event('setup.output', { stream: 'stdout', text: 'o\n' }),
    event('setup', { phase: 'command', name: 'npm ci', status: 'finished', output: 'two' }),
  )
  assert.deepEqual(
    last(log, 'setup').steps.map(({ printed, revision }) => [printed.text, revision]),
    [
      ['', 0],
      ['one\ntwo\n', 2],
    ],
  )
})

test('a skill that cannot be used is a step that failed, not a setup that did', () => {
  const log = readLog(
    event('setup', { phase: 'skill', name: 'acme/site:x', status: 'failed', output: 'Why.' }),
  )
  const setup = last(log, 'setup')
  assert.deepEqual([setup.status, setup.steps[0]?.status], ['running', 'failed'])
})

test('a kind of event that this page does not know changes nothing', () => {
  const newer = event('error', { error_code: 'internal_error', message: '', retryable: false })
  const log = readLog(Object.assign(newer, { type: 'new.kind' }))
  assert.deepEqual(log.view.entries, [])
  assert.equal(log.view.sequence, newer.sequence)
})

test('a provider that fails again is one line that counts, until something else happens', () => {
  const failed = (message: string, retry: number) =>
    event('retrying', { error_code: 'resource_unavailable', message, retry, delay_ms: 1_000 })
  const log = readLog(failed('Busy.', 1), failed('Busy.', 2), failed('Away.', 3), failed('Busy.', 4))
  const notes = log.view.entries.map((entry) => (entry.kind === 'note' ? [entry.text, entry.more] : []))
  assert.deepEqual(notes, [['Busy.', 'retry 4 in 1 s']])
  assert.equal(log.view.is_retrying, true)
  log.apply(event('message.assistant', { message_id: 'm', text: 'Here.' }))
  assert.equal(log.view.is_retrying, false)
  log.apply(failed('Busy.', 1))
  assert.equal(log.view.entries.filter(({ kind }) => kind === 'note').length, 2)
})

test('an end is live if the page was opened before it, whatever the clock of the browser says', () => {
  const isLive = (opened: Pick<RunItem, 'state' | 'execution'>, ...events: RunEvent[]) => {
    const log = new SessionLog('ann', opened, OPENED)
    for (const each of events) log.apply(each)
    return log.view.is_end_live
  }
  const end = (execution: number, second: number) =>
    event('run.state', { state: 'SUCCEEDED', execution, attempt: 1 }, second)
  assert.equal(isLive({ state: 'INPROGRESS', execution: 1 }, end(1, 9)), true)
  assert.equal(isLive({ state: 'SUCCEEDED', execution: 1 }, end(1, 11)), false)
  assert.equal(isLive({ state: 'SUCCEEDED', execution: 1 }, end(1, 9), end(2, 11)), true, 'a follow-up')
  assert.equal(isLive({ state: 'INPROGRESS', execution: 2 }, end(1, 9)), false, 'of the execution before')
})
