import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import type { PermissionRule } from '../contract/permission.ts'
import { closeInterrupted, RUN_STOPPED, TURN_STOPPED, WORKER_LOST } from '../log/interruption.ts'
import { WAITS } from './approvals.ts'
import { CallGate } from './call-gate.ts'

const rule: PermissionRule = { tool: 'bash', action: 'ask' }
const input = { command: 'touch a' }
const gate = () =>
  new CallGate({
    permissions: [[rule]],
    run: { cwd: '/workspace' },
    mask: (text) => text,
  })
const call = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input },
})
const result = (tool_call_id: string, output: string): NewEvent => ({
  type: 'tool.result',
  data: closeInterrupted(tool_call_id, output),
})
const allowed = (why: string): NewEvent[] => [
  call('first'),
  {
    type: 'approval.requested',
    data: { approval_id: 'approval', tool_call_id: 'first', tool: 'bash', rule },
  },
  result('first', why),
  {
    type: 'approval.answered',
    data: { approval_id: 'approval', decision: 'allow_once', author: 'Ada' },
  },
]
const judge = (log: NewEvent[], tool_call_id: string, by = gate()): string =>
  by.judge(log, { tool_call_id, name: 'bash', input }).action

test('what was allowed once is allowed once, also in another session', () => {
  const log = allowed(WAITS)
  const one = gate()
  assert.equal(judge(log, 'second', one), 'allow')
  assert.equal(judge(log, 'third', one), 'ask')
  log.push(call('second'))
  assert.equal(judge(log, 'second'), 'allow', 'it is in the log already')
  assert.equal(judge([...log, call('third')], 'third'), 'ask', 'two at once')
  log.push({ type: 'tool.result', data: { tool_call_id: 'second', is_error: false, exit_code: 0 } })
  assert.equal(judge(log, 'third'), 'ask')
})

test('a call that was lost may be made again, one that was stopped asks again', () => {
  const log = allowed(WAITS)
  assert.equal(judge([...log, call('second'), result('second', WORKER_LOST)], 'third'), 'allow')
  assert.equal(judge([...log, call('second'), result('second', TURN_STOPPED)], 'third'), 'ask')
  for (const why of [TURN_STOPPED, RUN_STOPPED]) assert.equal(judge(allowed(why), 'second'), 'ask', why)
})
