import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { createOutputLimit } from './output-limit.ts'

const output = (tool_call_id: string, text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id, stream: 'stdout', text },
})
const textOf = (event: NewEvent): string => (event.type === 'tool.output' ? event.data.text : event.type)

test('output is let through up to the limit in bytes, then told once a command', () => {
  const limit = createOutputLimit(10)
  const call = (id: string): NewEvent => ({
    type: 'tool.call',
    data: { tool_call_id: id, name: 'bash', input: {} },
  })
  const told = [
    output('a', '12345'),
    output('a', 'éé6'),
    output('a', '7'),
    output('a', '8'),
    call('b'),
    output('b', '9'),
    output('b', '10'),
  ]
    .flatMap(limit)
    .map(textOf)
  assert.equal(told.length, 5)
  assert.deepEqual([told[0], told[1], told[3]], ['12345', 'éé6', 'tool.call'])
  for (const text of [told[2], told[4]]) assert.match(text ?? '', /^\[Not kept: .* more than 64 MiB/)
})
