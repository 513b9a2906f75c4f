import type { NewEvent } from '../contract/event.ts'
import type { Outcome } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

export interface Budget {
  count(events: readonly NewEvent[]): void
  /** How the run ends once it is spent. */
  outcome(): Outcome
  close(): void
}

/** Watches what a run may spend, over all its executions, and calls `onSpent` once when it is spent. */
export function createBudget(run: RunRow, onSpent: () => void): Budget {
  const budget = run.request.budget
  const limit_ms = budget?.max_duration_minutes === undefined ? null : budget.max_duration_minutes * 60_000
  let tokens = run.input_tokens + run.output_tokens
  let cost = run.inference_cost_usd
  let spent: string | null = null
  const spend = (what: string) => {
    if (spent) return
    spent = what
    onSpent()
  }
  const timer =
    limit_ms === null
      ? undefined
      : setTimeout(
          () => spend(`${budget?.max_duration_minutes} minutes`),
          Math.max(0, limit_ms - run.run_time_ms),
        )

  return {
    count(events: readonly NewEvent[]): void {
      for (const event of events) {
        if (event.type !== 'usage') continue
        tokens += event.data.total_tokens
        cost += event.data.inference_cost_usd ?? 0
      }
      if (budget?.max_tokens !== undefined && tokens > budget.max_tokens) spend(`${budget.max_tokens} tokens`)
      if (budget?.max_cost_usd !== undefined && cost > budget.max_cost_usd)
        spend(`${budget.max_cost_usd} US dollars`)
    },
    outcome: (): Outcome => ({
      state: 'FAILED',
      status_message: {
        message: `The run reached its budget of ${spent}.`,
        error_code: 'budget_exceeded',
        retryable: false,
      },
    }),
    close: () => clearTimeout(timer),
  }
}
