import type { ListRunsParams, RunItem, RunState } from '@runyard/client'
import { startOfDay, textOf } from '../shell/search-value.ts'

/** What the address of the list says: it can be shared. */
export interface RunSearch {
  q?: string
  state?: StateGroup
  source?: Source
  environment?: string
  creator?: string
  /** Id of the trigger that started them. */
  trigger?: string
  /** Days back. */
  days?: number
  /** Archived runs alone, or with the others. */
  archived?: 'true' | 'all'
}

/** What people look for; each stands for some states, but `attention`, which is a question of its own. */
export const STATE_GROUPS = {
  open: { label: 'Open', states: ['QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED'] },
  attention: { label: 'Needs you', states: [] },
  waiting: { label: 'Waiting for you', states: ['BLOCKED'] },
  succeeded: { label: 'Succeeded', states: ['SUCCEEDED'] },
  failed: { label: 'Failed', states: ['FAILED', 'ERROR'] },
  cancelled: { label: 'Cancelled', states: ['CANCELLED'] },
} as const satisfies Record<string, { label: string; states: readonly RunState[] }>
export type StateGroup = keyof typeof STATE_GROUPS

export type Source = RunItem['source']

/** Where runs come from, as people would say it. */
export const SOURCES: Record<Source, string> = {
  API: 'API',
  CLI: 'Command line',
  WEB_APP: 'This page',
  SCHEDULED_AGENT: 'Schedules',
  ORCHESTRATION: 'Other runs',
  GITHUB_WEBHOOK: 'GitHub',
  GITLAB_WEBHOOK: 'GitLab',
  SLACK: 'Slack',
  LINEAR: 'Linear',
  MCP: 'MCP',
  TEAMS: 'Microsoft Teams',
  JIRA: 'Jira',
  AZURE_DEVOPS_WEBHOOK: 'Azure DevOps',
  CUSTOM_WEBHOOK: 'Custom webhooks',
  GITHUB_ACTION: 'GitHub Actions',
  CLOUD_MODE: 'Cloud mode',
  LOCAL: 'Local',
  AUTOFIX: 'Autofix',
  RUN_SCORER: 'Run scoring',
  SELF_IMPROVEMENT: 'Self-improvement',
  BENCHMARK_TRIAL: 'Benchmark trials',
  CREATE_BENCHMARK_TASK: 'Benchmark authoring',
}

/** The sources that give runs here. An address may name any of the others, and finds none. */
const USUAL: readonly Source[] = [
  ...(['API', 'CLI', 'WEB_APP', 'SCHEDULED_AGENT', 'ORCHESTRATION'] as const),
  ...(['GITHUB_WEBHOOK', 'GITLAB_WEBHOOK', 'SLACK', 'LINEAR'] as const),
]

/** What the filter offers: the usual sources, and the one that is chosen. */
export const offeredSources = (chosen: Source | undefined): Source[] => [
  ...new Set([...USUAL, ...(chosen ? [chosen] : [])]),
]

/** From an address that anybody may have written. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const [q, state, source, environment, creator, trigger, archived] = [
    search.q,
    search.state,
    search.source,
    search.environment,
    search.creator,
    search.trigger,
    // As an address may have it without quotes.
    search.archived === true ? 'true' : search.archived,
  ].map(textOf)
  const days = Number(search.days)
  return {
    ...(q ? { q } : {}),
    ...(state && Object.hasOwn(STATE_GROUPS, state) ? { state: state as StateGroup } : {}),
    ...(source && Object.hasOwn(SOURCES, source) ? { source: source as Source } : {}),
    ...(environment ? { environment } : {}),
    ...(creator ? { creator } : {}),
    ...(trigger ? { trigger } : {}),
    ...(archived === 'true' || archived === 'all' ? { archived } : {}),
    ...(Number.isInteger(days) && days > 0 && days <= 3650 ? { days } : {}),
  }
}

/** The same as the API takes it. The newest come first: a list in the order of changes would move under the reader. */
export function toListParams({
  q,
  state,
  source,
  environment,
  creator,
  trigger,
  days,
  archived,
}: RunSearch): ListRunsParams {
  return {
    sort_by: 'created_at',
    ...(q ? { q } : {}),
    ...(state === 'attention'
      ? { needs_attention: true }
      : state
        ? { state: [...STATE_GROUPS[state].states] }
        : {}),
    ...(source ? { source: [source] } : {}),
    ...(environment ? { environment_id: environment } : {}),
    ...(creator ? { creator } : {}),
    ...(trigger ? { trigger_id: trigger } : {}),
    ...(days ? { created_after: startOfDay(days) } : {}),
    ...(archived ? { archived } : {}),
  }
}
