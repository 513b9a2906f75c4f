import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Usage } from '@runyard/client'
import { describeUnpriced, formatUsage } from '../src/usage-text.ts'

const NOTHING = {
  ...{ runs: 0, succeeded: 0, failed: 0, errors: 0, cancelled: 0, blocked: 0, open: 0 },
  ...{ total_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: 0 },
  ...{ run_seconds_p50: null, run_seconds_p95: null },
}
const MADE = { ...NOTHING, runs: 12, succeeded: 11, failed: 1, run_seconds_p50: 4.25 }
const usage: Usage = {
  ...{ from: '2026-01-01T00:00:00.000Z', to: '2026-01-03T00:00:00.000Z', time_zone: 'UTC' },
  totals: { ...MADE, total_tokens: 1_250_000, cost_usd: 1.5 },
  by_agent: [{ agent: 'oz', ...MADE, total_tokens: 1_250_000, cost_usd: 1.5 }],
  by_model: [
    { model_id: 'openai/gpt', ...MADE, total_tokens: 1_000_000, cost_usd: 1.5 },
    { model_id: 'local/llama', ...MADE, total_tokens: 250_000 },
  ],
  by_environment: [{ environment_id: null, ...MADE }],
  days: [
    { date: '2026-01-01', ...NOTHING },
    { date: '2026-01-02', ...MADE },
  ],
}
const unpriced = new Set(['local/llama'])

test('usage is one table, and says what is not priced', () => {
  assert.equal(
    formatUsage(usage, unpriced, { columns: () => undefined }),
    `                  RUNS  SUCCEEDED  FAILED  ERRORS  CANCELLED  MEDIAN     TOKENS        COST
All runs            12         11       1       0          0   4.3 s  1,250,000      $1.50+
Agent
  oz                12         11       1       0          0   4.3 s  1,250,000       $1.50
Model
  openai/gpt        12         11       1       0          0   4.3 s  1,000,000       $1.50
  local/llama       12         11       1       0          0   4.3 s    250,000  not priced
Environment
  no environment    12         11       1       0          0   4.3 s          0       $0.00
Day
  2026-01-02        12         11       1       0          0                  0       $0.00`,
  )
  assert.equal(
    describeUnpriced(usage, unpriced),
    'Costs do not include 250,000 tokens, whose price is not known: local/llama.',
  )
})

test('it fits narrow terminals', () => {
  for (const columns of [60, 80])
    for (const line of formatUsage(usage, unpriced, { columns: () => columns }).split('\n'))
      assert(line.length <= columns, line)
})
