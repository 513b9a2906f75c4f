import type { Outcome } from '../harness/harness.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'

/** What was not known at create, where the run leaves the choice of its harness to the worker. */
export function findUnsupported(run: RunRow, harness: string): Outcome | null {
  if (!run.request.output_schema || harness !== 'runbook') return null
  return refuse('The harness runbook has no output_schema: that takes an agent, and so a model.')
}

/** A runbook's steps are its caller's own: nothing in it asks. Doing without the rules would be worse. */
export function findUnenforced(
  { config }: RunRow,
  environment: Pick<EnvironmentRow, 'config'> | null,
  harness: string,
): Outcome | null {
  const rules = [...(config.permissions ?? []), ...(environment?.config.permissions ?? [])]
  if (harness !== 'runbook' || rules.every(({ action }) => action === 'allow')) return null
  return refuse('The harness runbook cannot obey permissions, which the run or its environment has.')
}

const refuse = (message: string): Outcome => ({
  state: 'FAILED',
  status_message: { message, error_code: 'feature_not_available', retryable: false },
})
