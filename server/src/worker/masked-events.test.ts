import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { assertBrief } from '../../test/support/loop-guard.ts'
import type { NewEvent } from '../contract/event.ts'
import { closeInterrupted, WORKER_LOST } from '../log/interruption.ts'
import { BLOCKED_MS } from '../watchdog/event-loop.ts'
import { MaskedEvents } from './masked-events.ts'

const SECRET = 'hunter2-hunter2'
const WORD = 'interrupted'

const mask = new MaskedEvents()
await mask.hide([SECRET, WORD])

function masked(...events: NewEvent[]): NewEvent[] {
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

test('long values full of characters that programs escape freeze nothing: not when they are hidden, nor at a gap', async () => {
  const values = ['\'"\\&<\n xy', '"`$é/\t\'', '\\\\\'\'""&&', '%+ \r\n<>'].map((piece) =>
    Array.from({ length: 65_536 / 16 }, (_, at) => piece + at).join(''),
  )
  const events = new MaskedEvents()
  let hidden = false
  const turns: number[] = []
  const hide = async () => {
    await events.hide(values)
    hidden = true
  }
  let hiding: Promise<void> | undefined
  while (!hidden) {
    const began = process.threadCpuUsage()
    hiding ??= hide()
    await setImmediate()
    const { user, system } = process.threadCpuUsage(began)
    turns.push((user + system) / 1_000)
  }
  await hiding
  assert(turns.length > 10 && Math.max(...turns) < BLOCKED_MS, turns.join(' '))
  const secret = JSON.stringify(values[0]).slice(1, -1)
  const told = assertBrief(() => {
    const stream = events.stream()
    return (
      stream.push(secret.slice(0, 3_100)) +
      stream.gap() +
      stream.push(secret.slice(4_200, 9_000)) +
      stream.gap()
    )
  })
  assert(told.replaceAll('***', '').length < 8, told)
  // Behind a gap anywhere, too: with so many hashes, wrong ends of values are found every fiftieth time.
  for (let cut = 1; cut < secret.length - 700; cut += 101) {
    const stream = events.stream()
    const shown =
      stream.push('begin ') + stream.gap() + stream.push(secret.slice(cut, cut + 700)) + stream.gap()
    assert(shown.replaceAll('***', '').length < 'begin '.length + 8, `${cut}: ${shown}`)
  }
})
