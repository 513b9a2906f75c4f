/** What a run has used, by model and purpose, with the tokens of caches apart. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../src/contract/event.ts'
import type { Usage } from '../src/contract/usage.ts'
import { startRun } from '../src/store/transitions.ts'
import { onFace } from './support/face.ts'
import { createComponentCheck } from './support/openapi.ts'

const check = createComponentCheck()
const used = (model_id: string, data: object = {}): NewEvent => ({
  type: 'usage',
  data: { model_id, input_tokens: 100, output_tokens: 10, total_tokens: 110, ...data },
})
const CACHED = {
  ...{ cached_input_tokens: 60, cache_write_tokens: 30, inference_cost_usd: 0.1 },
  inference_cost_parts_usd: { input: 0.01, output: 0.02, cache_read: 0.03, cache_write: 0.04 },
}

onFace('usage by model', (face) => {
  const start = async (harness: string) => {
    const { admin, worker, store } = face()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    const lease = await worker.take(run_id)
    await startRun(store.db, lease, { harness, model_id: 'a/big' })
    return { run_id, lease }
  }
  const read = async (run_id: string) => {
    const run = await face().admin.get(run_id)
    check('RunItem', run)
    assert(run.request_usage)
    return run.request_usage
  }

  test('steps, summaries and commands are told apart, and so are the tokens of the cache', async () => {
    const { admin, worker } = face()
    const { run_id, lease } = await start('oz')
    await worker.append(lease, [used('a/big', CACHED), used('a/big', CACHED)])
    await worker.append(lease, [
      used('a/big', { by_compaction: true }),
      used('b/small', { by_gateway: true }),
      used('a/big', CACHED),
    ])
    const usage = await read(run_id)
    assert.deepEqual(
      [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.compute_cost_usd],
      [500, 180, 90, 0],
    )
    assert.deepEqual(
      usage.model_token_usage.map(({ usage_type: _, ...model }) => model),
      [
        {
          ...{ model_id: 'a/big', total_tokens: 440 },
          tokens_by_category: { primary_agent: 330, conversation_compaction: 110 },
        },
        { model_id: 'b/small', total_tokens: 110, tokens_by_category: { sandbox_commands: 110 } },
      ],
    )
    const steps = usage.usage_by_category.primary_agent?.direct_api_inference_usage['a/big']
    assert.deepEqual(steps?.token_count, {
      ...{ input: 30, input_cache_read: 180, input_cache_write: 90, output: 30 },
    })
    const cents = Object.values(steps?.cost_in_cents ?? {}).map((cost) => Math.round(cost * 1e6) / 1e6)
    assert.deepEqual(cents.sort(), [3, 6, 9, 12].sort())
    await worker.end(lease)

    const { totals, by_model } = await admin.json<Usage>('GET', '/agent/usage')
    assert.deepEqual([totals.cache_read_tokens, totals.cache_write_tokens], [180, 90])
    assert.deepEqual(
      by_model.map((row) => [row.model_id, row.runs, row.total_tokens, row.cache_read_tokens, row.cost_usd]),
      [
        ['a/big', 1, 440, 180, 0.3],
        ['b/small', 1, 110, 0, 0],
      ],
    )
  })

  test('what an agent asks by the gateway is its own work, whatever the models call themselves', async () => {
    const { worker } = face()
    const { run_id, lease } = await start('claude')
    const names = Array.from({ length: 120 }, (_, at) => used(`c/m${at}`, { by_gateway: true }))
    for (const events of [names.slice(0, 100), names.slice(100), names.slice(0, 1)])
      await worker.append(lease, events)
    const usage = await read(run_id)
    assert.deepEqual(Object.keys(usage.usage_by_category), ['primary_agent'])
    const totals = new Map(usage.model_token_usage.map((model) => [model.model_id, model.total_tokens]))
    assert.deepEqual([totals.size, totals.get('others'), totals.get('c/m0')], [101, 20 * 110, 220])
    await worker.end(lease)
  })
})
