import type { NewEvent } from '../contract/event.ts'
import type { BudgetLimits } from '../contract/run-request.ts'
import type { Outcome, UsedSoFar } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

/** What a run may spend, over all its executions. Once spent it stays so until it is raised: every turn ends before it begins. */
export interface Budget {
  /** Starts the clock of this attempt: a run's time is that from claim to end. `onSpent` is called each time it is spent. */
  start(onSpent: () => void): void
  /** Where money is limited, a model whose cost is not known ends the run like one that spent it all. */
  count(events: readonly NewEvent[]): void
  /** Whether this may be spent besides what was counted. */
  affords(used: UsedSoFar): boolean
  /** What the run may spend from now on, in place of what it might before. */
  change(limits: BudgetLimits): void
  /** Calls back with each change of `tokensLeft` that is not one of counting. */
  onChange(changed: () => void): void
  /** `null`: no limit. */
  tokensLeft(): number | null
  /** Money is limited, so what a model costs must be known. */
  readonly limits_cost: boolean
  /** How the run ends; `null` while there is something left. */
  spent(): Outcome | null
  close(): void
}

export function createBudget(
  run: Pick<RunRow, 'request' | 'input_tokens' | 'output_tokens' | 'inference_cost_usd' | 'run_time_ms'>,
): Budget {
  let limits: BudgetLimits = run.request.budget ?? {}
  let tokens = run.input_tokens + run.output_tokens
  let cost = run.inference_cost_usd
  let began: number | null = null
  let spent: Outcome | null = null
  let unpriced_model: string | null = null
  let report = (): void => {}
  let tell = (): void => {}
  let timer: NodeJS.Timeout | undefined
  const timeLeft = (): number => {
    const { max_duration_minutes } = limits
    if (max_duration_minutes === undefined) return Number.POSITIVE_INFINITY
    const now = began === null ? 0 : performance.now() - began
    return max_duration_minutes * 60_000 - run.run_time_ms - now
  }
  const findSpent = (): Outcome | null => {
    const { max_tokens, max_cost_usd, max_duration_minutes } = limits
    if (max_tokens !== undefined && tokens > max_tokens) return exceeded(`${max_tokens} tokens`)
    if (max_cost_usd !== undefined && cost > max_cost_usd) return exceeded(`$${max_cost_usd}`)
    if (max_cost_usd !== undefined && unpriced_model !== null) return unpriced(unpriced_model)
    return timeLeft() <= 0 ? exceeded(`${max_duration_minutes} minutes`) : null
  }
  const check = (): void => {
    const before = spent
    spent = findSpent()
    if (spent !== null && before === null) report()
  }
  const arm = (): void => {
    clearTimeout(timer)
    const left_ms = timeLeft()
    // Timers may fire a moment early.
    if (began !== null && spent === null && left_ms !== Number.POSITIVE_INFINITY)
      timer = setTimeout(() => (timeLeft() > 0 ? arm() : check()), Math.max(1, left_ms))
  }
  check()

  return {
    start(onSpent) {
      report = onSpent
      began = performance.now()
      arm()
    },
    count(events) {
      for (const { type, data } of events) {
        if (type !== 'usage') continue
        tokens += data.input_tokens + data.output_tokens
        cost += data.inference_cost_usd ?? 0
        if (data.inference_cost_usd === undefined && data.total_tokens > 0) unpriced_model = data.model_id
      }
      check()
    },
    affords({ input_tokens = 0, output_tokens, inference_cost_usd = 0 }) {
      const { max_tokens, max_cost_usd } = limits
      const in_tokens = max_tokens === undefined || tokens + input_tokens + output_tokens <= max_tokens
      return in_tokens && (max_cost_usd === undefined || cost + inference_cost_usd <= max_cost_usd)
    },
    change(changed) {
      limits = changed
      check()
      arm()
      tell()
    },
    onChange(changed) {
      tell = changed
    },
    tokensLeft: () => {
      const { max_tokens } = limits
      return max_tokens === undefined ? null : Math.max(0, max_tokens - tokens)
    },
    get limits_cost() {
      return limits.max_cost_usd !== undefined
    },
    spent: () => spent,
    close: () => clearTimeout(timer),
  }
}

const exceeded = (limit: string): Outcome => ({
  state: 'BLOCKED',
  status_message: {
    message: `The run reached its budget of ${limit}. A follow-up with a larger budget goes on.`,
    error_code: 'budget_exceeded',
    retryable: false,
    waits_for: 'budget',
  },
})

/** How a run ends whose money is limited and whose model has no price here. */
export const unpriced = (model_id: string): Outcome => ({
  state: 'FAILED',
  status_message: {
    message: `budget.max_cost_usd: the price of "${model_id}" is not known here. Use max_tokens or max_duration_minutes, or have its price set (RUNYARD_MODEL_PRICES).`,
    error_code: 'invalid_request',
    retryable: false,
  },
})
