import type { ArtifactItem, RunItem } from '@runyard/client'
import { firstLine } from '../text/plain-text.ts'

export interface ChangeCounts {
  additions: number
  deletions: number
}

/** What the run has changed, after its newest turn; undefined when it has changed nothing. */
export function changesOf({ artifacts }: Pick<RunItem, 'artifacts'>): ChangeCounts | undefined {
  const newest = artifacts
    .flatMap((artifact) =>
      artifact.artifact_type === 'FILE' && artifact.data.diff ? artifact.data.diff : [],
    )
    .reduce<(ChangeCounts & { turn: number; files_changed: number }) | undefined>(
      (found, diff) => (found && found.turn > diff.turn ? found : diff),
      undefined,
    )
  return newest && newest.files_changed > 0 ? newest : undefined
}

export interface Pull {
  /** `#12`, or `!12` for a merge request. */
  name: string
  url: string
  status: Extract<ArtifactItem, { artifact_type: 'PULL_REQUEST' }>['data']['status']
}

/** The pull request that the run opened last: an open one before the others. */
export function pullOf({ artifacts }: Pick<RunItem, 'artifacts'>): Pull | undefined {
  const pulls = artifacts.flatMap((artifact) =>
    artifact.artifact_type === 'PULL_REQUEST' ? artifact.data : [],
  )
  const pull = pulls.findLast(({ status }) => status === 'open') ?? pulls.at(-1)
  if (!pull) return undefined
  const [, kind, number] = /\/(pulls?|merge_requests)\/(\d+)/.exec(URL.parse(pull.url)?.pathname ?? '') ?? []
  const name = number === undefined ? 'Pull request' : `${kind === 'merge_requests' ? '!' : '#'}${number}`
  return { name, url: pull.url, status: pull.status }
}

const AT_REST: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']

/** What somebody has to do about the run, in a few words; undefined when there is nothing to do. */
export function taskOf(run: Pick<RunItem, 'state' | 'status_message' | 'artifacts'>): string | undefined {
  const { state, status_message } = run
  if (state === 'BLOCKED') {
    if (status_message?.approval) return 'Allow or deny'
    if (status_message?.waits_for === 'budget') return 'Raise the budget'
    return status_message?.waits_for === 'message' ? undefined : 'Answer'
  }
  if (state === 'FAILED' && status_message?.error_code === 'environment_setup_failed') return 'Fix the setup'
  return AT_REST.includes(state) && pullOf(run)?.status === 'open' ? 'Merge' : undefined
}

/** What somebody has to know before opening the run: why it ended badly, or what it waits for. */
export function reasonOf({ state, status_message, waiting }: RunItem): string | undefined {
  const message = ['FAILED', 'ERROR', 'BLOCKED'].includes(state)
    ? status_message?.message
    : waiting && waiting.reason !== 'starting'
      ? waiting.message
      : undefined
  return message ? firstLine(message) : undefined
}

/** The agent in one or two words: what the run is labelled with, its model without the provider, or the name of the agent. */
export function agentOf({
  agent_config,
  resolved,
}: Pick<RunItem, 'agent_config' | 'resolved'>): string | undefined {
  const model = resolved?.model_id ?? agent_config.model_id
  return (
    agent_config.name ??
    (model ? model.slice(model.indexOf('/') + 1) : undefined) ??
    resolved?.harness ??
    agent_config.harness?.type
  )
}
