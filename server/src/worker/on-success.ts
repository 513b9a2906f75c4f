import type { RunEvent } from '../contract/event.ts'
import type { Outcome } from '../harness/harness.ts'
import type { PushOutcome, PushRequest } from '../harness/tool-services.ts'
import type { RunRow } from '../store/runs.ts'
import type { Workspace } from './prepare.ts'

/** Characters of a pull request's text; GitHub takes 65,536. */
const MAX_BODY = 60_000

/** What the environment wants pushed when a run succeeds; `null` where it wants nothing. */
export async function requestOnSuccess(
  { config: { on_success = 'nothing' } }: Workspace,
  run: RunRow,
  readHistory: () => Promise<readonly RunEvent[]>,
): Promise<PushRequest | null> {
  if (on_success === 'nothing') return null
  const said = (await readHistory()).findLast((event) => event.type === 'message.assistant')
  const text = said?.type === 'message.assistant' ? said.data.text.slice(0, MAX_BODY) : ''
  const body = `${text}\n\nRunyard run ${run.run_id}`.trim()
  return { title: run.title, body, pull_request: on_success === 'pull_request', only_new: true }
}

/** How the run ends since its changes could not be pushed; `null`: they were. */
export function judgePush(outcome: PushOutcome): Outcome | null {
  if (!('failure' in outcome)) return null
  const { failure: message, retryable } = outcome
  return retryable
    ? { state: 'ERROR', status_message: { message, error_code: 'resource_unavailable', retryable } }
    : { state: 'FAILED', status_message: { message, error_code: 'integration_not_configured', retryable } }
}
