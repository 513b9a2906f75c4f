import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { closeContext, OTHER_RUN } from './context.ts'
import { readTranscript } from './transcript.ts'

const called = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: {} },
})
const ended = (tool_call_id: string): NewEvent => ({
  type: 'tool.result',
  data: { tool_call_id, is_error: false, exit_code: 0 },
})

test('calls of other runs are closed, once, in order, and say so', () => {
  const closed = closeContext([called('a'), ended('a'), called('b'), called('c')])
  assert.deepEqual(
    closed
      .slice(4)
      .map((event) => event.type === 'tool.result' && [event.data.tool_call_id, event.data.output]),
    [
      ['b', OTHER_RUN],
      ['c', OTHER_RUN],
    ],
  )
  assert.deepEqual(closeContext(closed), closed)
})

test('what is told of them stands beside their calls', () => {
  const said: NewEvent = { type: 'message.user', data: { message_id: 'u', text: 'And now?' } }
  const [step, user] = readTranscript([...closeContext([called('a')]), said], 100)
  assert(step?.type === 'step' && step.parts[0]?.type === 'call')
  assert.equal(step.parts[0].result?.output, OTHER_RUN)
  assert.equal(user?.type, 'user')
})

test('files of other runs are named, and not as if they were there', () => {
  const attachments = [{ file_name: 'a.csv', mime_type: 'text/csv', path: 'attachments/a.csv' }]
  assert.deepEqual(
    closeContext([{ type: 'message.user', data: { message_id: 'u', text: 'Look.', attachments } }]),
    [
      {
        type: 'message.user',
        data: {
          message_id: 'u',
          text: 'Look.\n\n[Came with this message and is not in this workspace: a.csv]',
        },
      },
    ],
  )
})

test('what became of the workspaces of other runs is not told', () => {
  const workspace = { calls_after: 0, note: 'A fresh one.' }
  const data = { phase: 'restore', name: 'a fresh workspace', status: 'finished', workspace } as const
  assert.deepEqual(closeContext([{ type: 'setup', data }]), [])
})
