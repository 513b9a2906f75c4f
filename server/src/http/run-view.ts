import { pageInfo } from '../contract/page-info.ts'
import type { ListRunsResponse, RunItem, WaitingRun } from '../contract/run.ts'
import type { RunStatusMessage } from '../contract/state.ts'
import { LISTED_CHARACTERS, type ListedRun } from '../store/run-list.ts'
import { viewUsage } from './usage-view.ts'

/** A run, whole or from a list, which says what it has cut. */
export type ShownRun = Omit<ListedRun, 'prompt_truncated' | 'base_prompt_truncated'> & Partial<ListedRun>

/** Makes the links of a run. */
export type LinkRun = (run: ShownRun) => Pick<RunItem, 'session_link' | 'trigger_url'>

/** A stored run as callers see it: nothing of sealed values, leases or sandboxes. */
export function viewRun(run: ShownRun, linkRun: LinkRun, waiting?: WaitingRun): RunItem {
  const working = run.claimed_at ? Date.now() - run.claimed_at.getTime() : 0
  return {
    run_id: run.run_id,
    task_id: run.run_id,
    title: run.title,
    state: run.state,
    prompt: run.prompt,
    ...(run.prompt_truncated ? { prompt_truncated: true } : {}),
    submitted_prompt: submittedPrompt(run),
    created_at: run.created_at.toISOString(),
    updated_at: run.updated_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    finished_at: run.finished_at?.toISOString() ?? null,
    ...(run.archived_at ? { archived_at: run.archived_at.toISOString() } : {}),
    ...(run.started_at ? { run_time: isoDuration(run.run_time_ms + Math.max(0, working)) } : {}),
    ...(run.status_message ? { status_message: { ...run.status_message, ...viewDebug(run) } } : {}),
    debug_agent_available: run.is_debuggable,
    ...(waiting ? { waiting } : {}),
    source: run.source,
    ...(run.schedule ? { schedule: run.schedule } : {}),
    ...(run.trigger ? { trigger: run.trigger } : {}),
    creator: run.creator,
    executor: run.executor,
    session_id: run.run_id,
    ...linkRun(run),
    agent_config: run.config,
    ...(run.base_prompt_truncated ? { base_prompt_truncated: true } : {}),
    ...(run.resolved ? { resolved: run.resolved } : {}),
    ...viewSkill(run),
    conversation_id: run.conversation_id,
    ...(run.parent_run_id ? { parent_run_id: run.parent_run_id } : {}),
    root_run_id: run.root_run_id,
    ...(run.replay_of_run_id ? { replay_of_run_id: run.replay_of_run_id } : {}),
    ...(run.fork_of ? { fork_of: viewFork(run.fork_of) } : {}),
    metadata: run.metadata,
    artifacts: run.artifacts,
    ...viewUsage(run),
    scope: run.scope === 'Team' ? { type: 'Team' } : { type: 'User', uid: run.principal_id },
    execution_location: 'REMOTE',
    is_sandbox_running: run.worker_id !== null,
    is_run_type_cancellable: true,
    attempt: run.attempt,
    execution: run.execution,
    ...(run.result === null ? {} : { result: run.result }),
  }
}

/** Until when the sandbox of a failed setup can be asked, and whether an agent is at it. */
const viewDebug = ({ debug, debug_until, is_debuggable }: ShownRun): Partial<RunStatusMessage> => ({
  ...(is_debuggable && debug_until ? { session_debug_until: debug_until.toISOString() } : {}),
  ...(debug === 'working' ? { debug_agent_active: true } : {}),
})

/** In a list as long as the prompt may be there. */
function submittedPrompt({ prompt, prompt_truncated, early_messages }: ShownRun): string {
  if (prompt_truncated || !early_messages) return prompt
  const whole = [prompt, early_messages].filter(Boolean).join('\n\n')
  return prompt_truncated === undefined ? whole : [...whole].slice(0, LISTED_CHARACTERS).join('')
}

const viewFork = ({ run_id, sequence, turn }: NonNullable<ShownRun['fork_of']>): RunItem['fork_of'] => ({
  run_id,
  sequence,
  turn,
})

export const viewRuns = (
  runs: ListedRun[],
  next_cursor: string | null,
  linkRun: LinkRun,
  waiting: ReadonlyMap<string, WaitingRun>,
): ListRunsResponse => ({
  runs: runs.map((run) => viewRun(run, linkRun, waiting.get(run.run_id))),
  page_info: pageInfo(next_cursor),
})

/** `PT1H2M3.5S`, as in ISO 8601; parts that are zero are left out. */
export function isoDuration(milliseconds: number): string {
  const hours = Math.floor(milliseconds / 3_600_000)
  const minutes = Math.floor((milliseconds % 3_600_000) / 60_000)
  const seconds = Math.round(milliseconds % 60_000) / 1000
  const text = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  return `PT${text || '0S'}`
}

/** Until it was read nothing is known but what was asked for. */
function viewSkill({
  skill_spec,
  resolved,
}: Pick<ListedRun, 'skill_spec' | 'resolved'>): Pick<RunItem, 'agent_skill'> {
  if (!skill_spec) return {}
  if (!resolved?.skill) return { agent_skill: { full_path: skill_spec } }
  const { id, name, description, commit } = resolved.skill
  return { agent_skill: { name, full_path: id, description, commit } }
}
