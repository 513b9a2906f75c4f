import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { closeEndedCalls, RUN_STOPPED } from './interruption.ts'

const call = (tool_call_id: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input: {} },
})
const result = (tool_call_id: string): NewEvent => ({
  type: 'tool.result',
  data: { tool_call_id, is_error: false, exit_code: 0 },
})
const state = (name: 'CANCELLED' | 'QUEUED'): NewEvent => ({
  type: 'run.state',
  data: { state: name, attempt: 1, execution: 1 },
})

test('a call of an execution that ended is closed, unless it has its result; one of this execution is left open', () => {
  const log = [call('a'), result('a'), call('b'), call('c'), state('CANCELLED'), result('c'), state('QUEUED')]
  const closed = closeEndedCalls([...log, call('d')])
  assert.deepEqual(
    closed.map(({ type, data }) => type === 'tool.result' && [data.tool_call_id, data.output]),
    [['b', RUN_STOPPED]],
  )
  assert.deepEqual(closeEndedCalls([...log, ...closed, call('d')]), [])
  assert.deepEqual(closeEndedCalls([call('d')]), [])
})
