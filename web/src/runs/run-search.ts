import type { ListRunsParams, RunState } from '@runyard/client'
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
}

/** What people look for; each stands for some states. */
export const STATE_GROUPS = {
  open: { label: 'Open', states: ['QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED'] },
  waiting: { label: 'Waiting for you', states: ['BLOCKED'] },
  succeeded: { label: 'Succeeded', states: ['SUCCEEDED'] },
  failed: { label: 'Failed', states: ['FAILED', 'ERROR'] },
  cancelled: { label: 'Cancelled', states: ['CANCELLED'] },
} as const satisfies Record<string, { label: string; states: readonly RunState[] }>
export type StateGroup = keyof typeof STATE_GROUPS

/** Where runs come from, as people would say it. */
export const SOURCES = {
  API: 'API',
  CLI: 'Command line',
  SCHEDULED_AGENT: 'Schedules',
  GITHUB_WEBHOOK: 'GitHub',
  GITLAB_WEBHOOK: 'GitLab',
  SLACK: 'Slack',
  LINEAR: 'Linear',
  WEB_APP: 'This page',
} as const satisfies Partial<Record<NonNullable<ListRunsParams['source']>, string>>
export type Source = keyof typeof SOURCES

/** From an address that anybody may have written. */
export function readRunSearch(search: Record<string, unknown>): RunSearch {
  const [q, state, source, environment, creator, trigger] = [
    search.q,
    search.state,
    search.source,
    search.environment,
    search.creator,
    search.trigger,
  ].map(textOf)
  const days = Number(search.days)
  return {
    ...(q ? { q } : {}),
    ...(state && Object.hasOwn(STATE_GROUPS, state) ? { state: state as StateGroup } : {}),
    ...(source && Object.hasOwn(SOURCES, source) ? { source: source as Source } : {}),
    ...(environment ? { environment } : {}),
    ...(creator ? { creator } : {}),
    ...(trigger ? { trigger } : {}),
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
}: RunSearch): ListRunsParams {
  return {
    sort_by: 'created_at',
    ...(q ? { q } : {}),
    ...(state ? { state: [...STATE_GROUPS[state].states] } : {}),
    ...(source ? { source } : {}),
    ...(environment ? { environment_id: environment } : {}),
    ...(creator ? { creator } : {}),
    ...(trigger ? { trigger_id: trigger } : {}),
    ...(days ? { created_after: startOfDay(days) } : {}),
  }
}
