import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { EventData } from '../contract/event.ts'
import { createUsageSums } from './usage-sums.ts'

const usage = (model_id: string, more: Partial<EventData<'usage'>> = {}): EventData<'usage'> => ({
  ...{ model_id, input_tokens: 2, output_tokens: 1, total_tokens: 3, by_gateway: true },
  ...more,
})

test('the first is told at once, the rest as sums, and nothing is lost', async () => {
  const told: EventData<'usage'>[][] = []
  const heard = new EventTarget()
  const sums = createUsageSums((usages) => {
    told.push(usages)
    heard.dispatchEvent(new Event('told'))
  }, 20)
  sums.add(usage('a'))
  assert.deepEqual(told, [[usage('a')]])
  const again = once(heard, 'told')
  for (let count = 0; count < 100_000; count += 1) sums.add(usage('a', { cached_input_tokens: 1 }))
  sums.add(usage('a', { estimated: true }))
  sums.add(usage('b'))
  await again
  const all = told.flat()
  assert.equal(all.length < 20, true)
  const total = all.reduce((sum, { total_tokens }) => sum + total_tokens, 0)
  assert.equal(total, 100_003 * 3)
  assert.equal(all.filter(({ estimated }) => estimated).length, 1)
  sums.add(usage('c'))
  sums.flush()
  assert.deepEqual(told.at(-1), [usage('c')])
})

test('however many names models have, few are told of', () => {
  const told: EventData<'usage'>[][] = []
  const sums = createUsageSums((usages) => told.push(usages))
  for (let count = 0; count < 10_000; count += 1) sums.add(usage(`m${count}`))
  sums.flush()
  assert.equal(told.flat().length <= 34, true)
  assert.equal(told.flat().at(-1)?.model_id, 'others')
})
