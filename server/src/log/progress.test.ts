import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { readProgress, takeBack } from './progress.ts'

const user: NewEvent = { type: 'message.user', data: { message_id: 'u', text: 'go' } }
const said: NewEvent = { type: 'message.assistant', data: { message_id: 's', text: 'hello' } }
const called = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: {} },
})
const ended = (tool_call_id: string): NewEvent => ({
  type: 'tool.result',
  data: { tool_call_id, is_error: false },
})
const usage: NewEvent = {
  type: 'usage',
  data: { model_id: 'm', input_tokens: 1, output_tokens: 1, total_tokens: 2 },
}
const state = (next: 'ERROR' | 'BLOCKED' | 'QUEUED'): NewEvent => ({
  type: 'run.state',
  data: { state: next, execution: 1, attempt: 1 },
})
const openIds = (...log: NewEvent[]) => readProgress(log).open_calls.map((call) => call.tool_call_id)

test('a message waits for the model until a step without calls is complete', () => {
  assert.equal(readProgress([]).needs_step, false)
  assert.equal(readProgress([user]).needs_step, true)
  assert.equal(readProgress([user, said]).needs_step, true)
  assert.equal(readProgress([user, said, usage]).needs_step, false)
  assert.equal(readProgress([user, said, usage, user]).needs_step, true)
})

test('results of calls wait for the model', () => {
  assert.equal(readProgress([user, called('a'), usage]).needs_step, true)
  assert.equal(readProgress([user, called('a'), usage, ended('a')]).needs_step, true)
  assert.equal(readProgress([user, called('a'), usage, ended('a'), said, usage]).needs_step, false)
})

test('what commands use by the gateway ends no step, whenever it comes', () => {
  const used: NewEvent = { ...usage, data: { ...usage.data, by_gateway: true } }
  const log = [user, said, called('a'), usage, ended('a')]
  for (let at = 0; at <= log.length; at += 1)
    assert.deepEqual(readProgress(log.toSpliced(at, 0, used)), readProgress(log), `at ${at}`)
  assert.deepEqual(readProgress([user, said, used]).torn, [said])
})

test('open calls are listed in order', () => {
  assert.deepEqual(openIds(user, called('a'), called('b'), called('c'), usage, ended('a')), ['b', 'c'])
})

for (const closing of [
  state('ERROR'),
  state('BLOCKED'),
  { type: 'interrupted', data: { attempt: 1 } } as const,
]) {
  test(`${closing.type} leaves nothing to do`, () => {
    const progress = readProgress([user, said, called('a'), usage, closing, ended('a')])
    assert.deepEqual(progress, {
      needs_step: false,
      steps: 0,
      answers: 0,
      last_calls: [],
      open_calls: [],
      torn: [],
    })
  })
}

test('going back to the queue leaves everything to do', () => {
  assert.equal(readProgress([user, state('QUEUED')]).needs_step, true)
})

test('text of a step that never became complete is torn until it is taken back', () => {
  assert.deepEqual(readProgress([user, said]).torn, [said])
  assert.deepEqual(readProgress([user, said, takeBack('message.assistant', 's')]).torn, [])
  assert.deepEqual(readProgress([user, said, called('a')]).torn, [])
  assert.deepEqual(readProgress([user, said, usage]).torn, [])
})

test('steps are counted from the last end of a turn', () => {
  assert.equal(
    readProgress([user, said, usage, state('ERROR'), user, called('a'), usage, ended('a')]).steps,
    1,
  )
})
