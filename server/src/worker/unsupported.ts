import type { Outcome } from '../harness/harness.ts'
import type { RunRow } from '../store/runs.ts'

/**
 * What a request may ask for and this version cannot do. Such a run ends with that reason: leaving out its tools, skill or
 * result form and calling it done would be worse.
 */
export function findUnsupported(run: RunRow, harness: string): Outcome | null {
  const asked =
    run.request.output_schema && harness !== 'oz' ? [`output_schema of the harness ${harness}`] : []
  if (asked.length === 0) return null
  const message = `This version cannot do what the run asks for: ${asked.join(', ')}.`
  return {
    state: 'FAILED',
    status_message: { message, error_code: 'feature_not_available', retryable: false },
  }
}
