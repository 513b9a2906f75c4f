import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { findLostCalls } from './lost-calls.ts'

test('a call is lost that had not ended when the workspace was kept', () => {
  const call = (tool_call_id: string): NewEvent => ({
    type: 'tool.call',
    data: { tool_call_id, name: 'bash', input: {} },
  })
  const result = (tool_call_id: string): NewEvent => ({
    type: 'tool.result',
    data: { tool_call_id, is_error: false },
  })
  const log = [call('a'), result('a'), call('b'), result('b'), call('c')].map((event, at) => ({
    ...event,
    sequence: at + 1,
  }))
  const lostAfter = (sequence: number) => findLostCalls(log, sequence).map((lost) => lost.tool_call_id)
  assert.deepEqual(lostAfter(0), ['a', 'b', 'c'])
  assert.deepEqual(lostAfter(2), ['b', 'c'])
  assert.deepEqual(lostAfter(3), ['b', 'c'], 'It was at work.')
  assert.deepEqual(lostAfter(5), ['c'])
})
