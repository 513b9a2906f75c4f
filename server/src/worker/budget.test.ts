import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBudget } from './budget.ts'

/** Of a run that has worked for so many seconds in earlier executions. */
const budgetOf = (seconds: number, max_duration_minutes: number) =>
  createBudget({
    request: { budget: { max_duration_minutes } },
    ...{ input_tokens: 0, output_tokens: 0, inference_cost_usd: 0, run_time_ms: seconds * 1_000 },
  } as unknown as Parameters<typeof createBudget>[0])

test('a run may work for as many minutes as its budget says, over all its executions', () => {
  assert.equal(budgetOf(119, 2).spent(), null)
  assert.match(JSON.stringify(budgetOf(120, 2).spent()), /2 minutes/)
})

test('a raised budget lets the run go on', () => {
  const budget = budgetOf(120, 2)
  budget.change({ max_duration_minutes: 3 })
  assert.equal(budget.spent(), null)
  budget.close()
})
