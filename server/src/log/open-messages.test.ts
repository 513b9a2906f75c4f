import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { WORKER_LOST } from './interruption.ts'
import { callId, noteId, openMessages, textId } from './open-messages.ts'

const said = (message_id: string, text = '```sh\ntrue\n```', followup_id?: string): NewEvent => ({
  type: 'message.user',
  data: { message_id, text, ...(followup_id && { followup_id }) },
})
const called = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: {} },
})
const ended = (tool_call_id: string, exit_code: number): NewEvent => ({
  type: 'tool.result',
  data: { tool_call_id, is_error: exit_code !== 0, exit_code },
})
const state = (
  next: 'SUCCEEDED' | 'FAILED' | 'ERROR' | 'CANCELLED' | 'BLOCKED' | 'QUEUED' | 'INPROGRESS',
): NewEvent => ({
  type: 'run.state',
  data: { state: next, execution: 1, attempt: 1 },
})
const idsOf = (...events: NewEvent[]) => openMessages(events).map((message) => message.message_id)

test('an unanswered message is open, with its follow-ups behind it', () => {
  assert.deepEqual(idsOf(said('a'), state('INPROGRESS'), said('b', 'x', 'f')), ['a', 'b'])
  const [prompt, followup] = openMessages([said('a'), said('b', 'x', 'f')])
  assert.deepEqual([prompt?.is_prompt, followup?.is_prompt], [true, false])
})

for (const end of ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED', 'BLOCKED'] as const) {
  test(`${end} closes what came before it, not what comes after`, () => {
    assert.deepEqual(idsOf(said('a'), state(end), state('QUEUED'), said('b')), ['b'])
  })
}

test('an interruption closes what came before it', () => {
  assert.deepEqual(
    idsOf(said('a'), called('a:1'), { type: 'interrupted', data: { attempt: 1 } }, said('b')),
    ['b'],
  )
})

test('a lost attempt closes nothing', () => {
  const lost: NewEvent = { type: 'attempt.lost', data: { attempt: 1, reason: 'killed' } }
  assert.deepEqual(idsOf(said('a'), called('a:1'), lost, state('QUEUED')), ['a'])
})

test('steps carry their latest call and its result', () => {
  const [message] = openMessages([
    said('a'),
    called('a:1'),
    ended('a:1', 0),
    called('a:2'),
    {
      type: 'tool.result',
      data: { tool_call_id: 'a:2', is_error: true, exit_code: null, output: WORKER_LOST },
    },
    called('a:2:r1'),
  ])
  assert.equal(message?.steps.get(1)?.result?.exit_code, 0)
  assert.deepEqual(message?.steps.get(2), { tool_call_id: 'a:2:r1', calls: 2 })
})

test('a message whose step failed stays listed, since it decides the outcome', () => {
  assert.deepEqual(idsOf(said('a'), called('a:1'), ended('a:1', 1), said('b', 'x', 'f')), ['a', 'b'])
})

test('commentary in the log is known by its id', () => {
  const ids = [textId('a', 0), noteId('a', 2, 1)]
  const [message] = openMessages([
    said('a'),
    ...ids.map((message_id): NewEvent => ({ type: 'message.assistant', data: { message_id, text: '' } })),
  ])
  assert.deepEqual([...(message?.said ?? [])], ids)
})

test('ids are made of the message, the step and the repeat', () => {
  assert.deepEqual([callId('m', 2, 0), callId('m', 2, 1)], ['m:2', 'm:2:r1'])
})

test('calls of other harnesses are not mistaken for steps', () => {
  const [message] = openMessages([said('a'), called('call_1'), called('b:1'), ended('call_1', 1)])
  assert.equal(message?.steps.size, 0)
})
