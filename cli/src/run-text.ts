import type { RunItem, RunState } from '@runyard/client'
import type { Colors } from './colors.ts'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import { writeRepository } from './repository-option.ts'
import { formatAge, formatDuration, formatMoment, parseDuration } from './time-text.ts'
import { hang } from './wrap.ts'

const STATE_COLORS: Partial<Record<string, 'green' | 'red' | 'yellow' | 'cyan' | 'dim'>> = {
  SUCCEEDED: 'green',
  FAILED: 'red',
  ERROR: 'red',
  BLOCKED: 'yellow',
  CANCELLED: 'yellow',
  INPROGRESS: 'cyan',
  CLAIMED: 'cyan',
  QUEUED: 'dim',
}

/** States of newer servers stay as they are. */
export const paintState = (state: string, colors: Colors): string =>
  colors[STATE_COLORS[state] ?? 'reset'](state)

const ENDS: Partial<Record<RunState, string>> = {
  SUCCEEDED: '✓ Succeeded',
  FAILED: '✗ Failed',
  ERROR: '✗ Error',
  CANCELLED: '■ Cancelled',
  BLOCKED: '? Waiting for your answer',
}

const WAITS: Partial<Record<string, string>> = {
  message: '■ Interrupted',
  budget: '■ Stopped at its budget',
}

function titleOf({ state, status_message }: RunItem): string {
  const { waits_for = '' } = status_message ?? {}
  return (state === 'BLOCKED' && WAITS[waits_for]) || ENDS[state] || oneLine(state)
}

/** `✓ Succeeded in 12.3 s · 12,345 tokens · $0.0123`, and below it why, the result and the link. */
export function describeEnd(run: RunItem, output: Output): string {
  const { colors } = output
  const paint = colors[STATE_COLORS[run.state] ?? 'reset']
  const joint = run.state === 'BLOCKED' ? ' · worked' : ' in'
  const time = run.run_time ? `${joint} ${formatDuration(parseDuration(run.run_time))}` : ''
  const figures = usageOf(run).map((figure) => ` · ${figure}`)
  const lines = [paint(colors.bold(titleOf(run))) + colors.dim(time + figures.join(''))]
  if (run.status_message) lines.push(`  ${hang(run.status_message.message, 2, output.columns())}`)
  if (run.result !== undefined) lines.push(indent(JSON.stringify(run.result, null, 2)))
  lines.push(colors.dim(fitLink(run.session_link, output)))
  if (hasChanges(run)) {
    const id = output.id(run.run_id)
    lines.push(colors.dim(`  See the changes: runyard diff ${id}`))
    lines.push(colors.dim(`  Apply them here: runyard apply ${id}`))
  }
  return lines.join('\n')
}

/** At the beginning of its line where it is too long for one, so that a terminal still takes it as one address. */
function fitLink(link: string, output: Output): string {
  const text = oneLine(link)
  return text.length + 2 > (output.columns() ?? Number.POSITIVE_INFINITY) ? text : `  ${text}`
}

/** What a follow-up to a run does whose setup failed. */
export function describeDebug({ debug_agent_available, status_message }: RunItem): string | undefined {
  if (!debug_agent_available) return undefined
  const { debug_agent_active, session_debug_until } = status_message ?? {}
  if (debug_agent_active) return "an agent is at work in the failed setup's sandbox; the run stays FAILED"
  const until = session_debug_until ? `until ${session_debug_until} ` : ''
  return `${until}a message asks an agent in the failed setup's sandbox; the run stays FAILED`
}

/** A run for reading: one field a line, long texts below. `environment`: its name. */
export function describeRun(run: RunItem, output: Output, environment?: string): string {
  const { colors } = output
  const config = run.agent_config
  const fields: Array<[string, string | undefined]> = [
    ['run', output.id(run.run_id)],
    ['state', paintState(run.state, colors)],
    ['why', run.status_message?.message],
    ['waits', run.waiting?.message],
    ['debug', describeDebug(run)],
    ['agent', config.name],
    ['model', config.model_id],
    ['harness', run.resolved?.harness ?? config.harness?.type],
    ['skill', run.agent_skill?.full_path],
    ['environment', environment ?? config.environment_id],
    ['repository', config.repositories?.map(writeRepository).join(', ')],
    ['created', `${hereAndNow(run.created_at)} by ${nameOf(run)} through ${run.source}`],
    ['updated', hereAndNow(run.updated_at)],
    ['worked', run.run_time && formatDuration(parseDuration(run.run_time))],
    ['usage', usageOf(run).join(' · ') || undefined],
    ['attempts', run.attempt > 1 ? String(run.attempt) : undefined],
    ['executions', run.execution > 1 ? String(run.execution) : undefined],
    ['parent', run.parent_run_id && output.id(run.parent_run_id)],
    ['replay of', run.replay_of_run_id && output.id(run.replay_of_run_id)],
    [
      'trigger',
      run.trigger && `${output.id(run.trigger.trigger_id)} (delivery ${output.id(run.trigger.delivery_id)})`,
    ],
    ['fork of', run.fork_of && `${output.id(run.fork_of.run_id)}, turn ${run.fork_of.turn}`],
    ['schedule', run.schedule && `${run.schedule.schedule_name} (${output.id(run.schedule.schedule_id)})`],
    ['metadata', pairsOf(run.metadata)],
    ['page', run.session_link],
  ]
  const blocks = [
    colors.bold(oneLine(run.title)),
    formatFields(fields, output),
    ...section('prompt', run.prompt, colors),
    ...section('artifacts', run.artifacts.map((item) => oneLine(describeArtifact(item))).join('\n'), colors),
    ...section('result', run.result === undefined ? '' : JSON.stringify(run.result, null, 2), colors),
  ]
  return blocks.join('\n\n')
}

const hereAndNow = (time: string): string =>
  `${formatMoment(time, Intl.DateTimeFormat().resolvedOptions().timeZone)} (${formatAge(time)})`

type Fields = ReadonlyArray<readonly [string, string | null | undefined]>

/** One field a line; those that have no value are left out. `above`: fields shown before, with which these are aligned. */
export function formatFields(
  fields: Fields,
  { colors, columns }: Pick<Output, 'colors' | 'columns'>,
  above: Fields = [],
): string {
  const shown = fields.flatMap(([name, value]) => (value ? [{ name, value }] : []))
  const width = Math.max(...[...above, ...fields].map(([name, value]) => (value ? name.length : 0)))
  return shown
    .map(
      ({ name, value }) => `${colors.dim(name.padEnd(width))}  ${hang(oneLine(value), width + 2, columns())}`,
    )
    .join('\n')
}

const nameFile = ({ title, filepath }: { title?: string; filepath: string }): string =>
  title === undefined ? filepath : `${title} (${filepath})`

export function describeArtifact(item: RunItem['artifacts'][number]): string {
  switch (item.artifact_type) {
    case 'FILE':
      if (item.data.diff) return `± ${summariseChanges(item.data.diff)} (turn ${item.data.diff.turn})`
      return `${item.data.artifact_uid}  ${nameFile(item.data)} (${formatSize(item.data.size_bytes)})`
    case 'SCREENSHOT':
      return `${item.data.artifact_uid}  screenshot ${item.data.title ?? item.data.description ?? ''}`.trimEnd()
    case 'PULL_REQUEST':
      return `pull request ${item.data.url}`
    case 'PLAN':
      return `${item.data.artifact_uid ?? item.data.document_uid}  plan: ${item.data.title ?? ''}`.trimEnd()
    case 'EXTERNAL_REFERENCE':
      return `${item.data.title ?? item.data.reference_type} ${item.data.url}`
    default:
      return 'an artifact this version does not know'
  }
}

/** How much a diff changes. */
export interface ChangeCounts {
  files_changed: number
  additions: number
  deletions: number
}

/** `3 files changed, +10 -2` */
export function summariseChanges({ files_changed, additions, deletions }: ChangeCounts): string {
  return `${files_changed} ${files_changed === 1 ? 'file' : 'files'} changed, +${additions} -${deletions}`
}

/** Whether the newest diff of a run holds anything. */
export const hasChanges = ({ artifacts }: RunItem): boolean =>
  artifacts.reduce(
    (has, { artifact_type, data }) =>
      artifact_type === 'FILE' && data.diff ? data.diff.files_changed > 0 : has,
    false,
  )

export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

export const indent = (text: string, by = '  '): string => text.replace(/^(?=.)/gm, by)

function usageOf({ request_usage }: RunItem): string[] {
  if (!request_usage) return []
  const cost = request_usage.inference_cost_usd
  return [
    `${request_usage.total_tokens.toLocaleString('en')} tokens`,
    ...(cost === undefined ? [] : [`$${cost.toFixed(cost < 1 ? 4 : 2)}`]),
  ]
}

const nameOf = (run: RunItem): string => run.creator.display_name ?? run.creator.uid
const pairsOf = (metadata: RunItem['metadata']): string =>
  Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')
const section = (name: string, text: string, colors: Colors): string[] =>
  text.trim() ? [`${colors.dim(name)}\n${indent(text.trimEnd())}`] : []
