import type { NewEvent } from '../contract/event.ts'
import type { Outcome } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

/** What a run may spend, over all its executions. Once spent it stays so: every later turn ends before it begins. */
export interface Budget {
  /** Starts the clock of this attempt: a run's time is that from claim to end. `onSpent` is called once. */
  start(onSpent: () => void): void
  count(events: readonly NewEvent[]): void
  /** `null`: no limit. */
  tokensLeft(): number | null
  /** How the run ends; `null` while there is something left. */
  spent(): Outcome | null
  close(): void
}

export function createBudget(
  run: Pick<RunRow, 'request' | 'input_tokens' | 'output_tokens' | 'run_time_ms'>,
): Budget {
  const { max_duration_minutes, max_tokens } = run.request.budget ?? {}
  const left_ms = max_duration_minutes === undefined ? null : max_duration_minutes * 60_000 - run.run_time_ms
  let tokens = run.input_tokens + run.output_tokens
  let spent: string | null = null
  let report = (): void => {}
  let timer: NodeJS.Timeout | undefined
  const spend = (what: string): void => {
    if (spent !== null) return
    spent = what
    report()
  }
  const check = (): void => {
    if (max_tokens !== undefined && tokens > max_tokens) spend(`${max_tokens} tokens`)
  }
  check()
  if (left_ms !== null && left_ms <= 0) spend(`${max_duration_minutes} minutes`)

  return {
    start(onSpent) {
      report = onSpent
      if (left_ms !== null && spent === null)
        timer = setTimeout(() => spend(`${max_duration_minutes} minutes`), left_ms)
    },
    count(events) {
      for (const { type, data } of events)
        if (type === 'usage') tokens += data.input_tokens + data.output_tokens
      check()
    },
    tokensLeft: () => (max_tokens === undefined ? null : Math.max(0, max_tokens - tokens)),
    spent: () =>
      spent === null
        ? null
        : {
            state: 'FAILED',
            status_message: {
              message: `The run reached its budget of ${spent}.`,
              error_code: 'budget_exceeded',
              retryable: false,
            },
          },
    close: () => clearTimeout(timer),
  }
}
