import type { Outcome } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

/** What was not known at create, where the run leaves the choice of its harness to the worker. */
export function findUnsupported(run: RunRow, harness: string): Outcome | null {
  if (!run.request.output_schema || harness === 'oz') return null
  const message = `The harness ${harness} has no output_schema: only "oz" does, which needs a model.`
  return {
    state: 'FAILED',
    status_message: { message, error_code: 'feature_not_available', retryable: false },
  }
}
