import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../contract/event.ts'
import { closeInterrupted, WORKER_LOST } from '../log/interruption.ts'
import { MaskedEvents } from './masked-events.ts'

const SECRET = 'hunter2-hunter2'
const WORD = 'interrupted'

function masked(...events: NewEvent[]): NewEvent[] {
  const mask = new MaskedEvents()
  mask.hide([SECRET, WORD])
  return [...events.flatMap((event) => mask.events(event)), ...mask.end()]
}
const call = (input: Record<string, unknown>, tool_call_id = 'call-1'): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name: 'bash', input },
})

test('keys are masked as well, but for those that a provider is given back', () => {
  const [stored] = masked({
    type: 'tool.call',
    data: {
      tool_call_id: 'call-1',
      name: 'bash',
      input: { [SECRET]: 1 },
      provider_metadata: { [SECRET]: { signature: SECRET } },
    },
  })
  assert.deepEqual(stored?.data, {
    tool_call_id: 'call-1',
    name: 'bash',
    input: { '***': 1 },
    provider_metadata: { [SECRET]: { signature: '***' } },
    masked: true,
  })
})

test('a call says so when it is not stored as it was made', () => {
  const plain = call({ command: 'ls', deep: [{ a: 1 }] })
  assert.deepEqual(masked(plain), [plain])
  assert.deepEqual(masked(call({ command: `rm -rf ${SECRET}/cache` })), [
    {
      type: 'tool.call',
      data: { tool_call_id: 'call-1', name: 'bash', input: { command: 'rm -rf ***/cache' }, masked: true },
    },
  ])
})

test('a result that is marked as interrupted stays so, whatever values there are', () => {
  const data = closeInterrupted('call-1', `${WORKER_LOST} (${WORD})`)
  assert.deepEqual(masked({ type: 'tool.result', data }), [
    { type: 'tool.result', data: { ...data, output: `${WORKER_LOST} (***)` } },
  ])
})
