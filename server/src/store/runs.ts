import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { ArtifactItem } from '../contract/artifact.ts'
import { AppError } from '../contract/error.ts'
import type { ForkedFrom } from '../contract/fork.ts'
import type { Permissions } from '../contract/permission.ts'
import type { ResolvedRun, RunCreatorInfo, RunSchedule, RunSourceType, RunTrigger } from '../contract/run.ts'
import type { RunAgentRequest } from '../contract/run-request.ts'
import {
  isResting,
  isTerminal,
  RESTING_STATES,
  type RunState,
  type RunStatusMessage,
} from '../contract/state.ts'
import type { Db } from './db.ts'
import { IS_DEBUGGABLE } from './debug-turns.ts'
import { USAGE_OF_RUN, type UsageOfRun } from './run-usage.ts'
import { AT_WORK, among, now } from './sql-fragments.ts'

/** The log of a run up to this sequence. */
export interface LogPart {
  run_id: string
  sequence: number
}

/** A run as stored, with the names of its people and its artifacts. */
export interface RunRow {
  run_id: string
  state: RunState
  pool: string
  scope: 'User' | 'Team'
  principal_id: string
  creator_id: string
  charged_to: string | null
  priority: number
  worker_id: string | null
  attempt: number
  execution: number
  /** Of a run whose setup failed: a turn in what that left is due, or under way. */
  debug: 'waiting' | 'working' | null
  /** Until when one may begin, and whether a follow-up would begin one. */
  debug_until: Date | null
  is_debuggable: boolean
  last_sequence: number
  undelivered: number
  interrupt_sequence: number | null
  harness_state: Record<string, unknown> | null
  title: string
  prompt: string
  /** Messages that came before it began, with empty lines between them; `null`: none did. */
  early_messages: string | null
  name: string | null
  model_id: string | null
  environment_id: string | null
  skill_spec: string | null
  source: RunSourceType
  schedule: RunSchedule | null
  trigger: RunTrigger | null
  config: AmbientAgentConfig
  resolved: ResolvedRun | null
  sealed: Uint8Array | null
  rules_above: Permissions[] | null
  request: Partial<RunAgentRequest>
  metadata: Record<string, string>
  conversation_id: string
  /** What the conversation held when the run was created, oldest run first. */
  context: LogPart[]
  parent_run_id: string | null
  root_run_id: string
  ancestor_run_ids: string[]
  replay_of_run_id: string | null
  fork_of: (ForkedFrom & { with_workspace: boolean }) | null
  status_message: RunStatusMessage | null
  result: unknown
  input_tokens: number
  output_tokens: number
  inference_cost_usd: number
  run_time_ms: number
  created_at: Date
  updated_at: Date
  claimed_at: Date | null
  started_at: Date | null
  finished_at: Date | null
  archived_at: Date | null
  creator: RunCreatorInfo
  executor: RunCreatorInfo
  artifacts: ArtifactItem[]
  usage: UsageOfRun[]
}

/** Personal runs are visible to their owner only, by whichever key; to a visitor one run of what its host sees. */
export const visibleTo = ({
  principal_id,
  only_run_id,
}: {
  principal_id: string | RawBuilder<unknown>
  only_run_id?: string | undefined
}): RawBuilder<boolean> =>
  sql<boolean>`(${only_run_id === undefined ? sql`` : sql`r.run_id = ${only_run_id}::uuid and `}
    (r.scope = 'Team' or r.principal_id = ${principal_id} or r.creator_id = ${principal_id}))`

/** Somebody as answers name them, from their row of `principals`. */
export const person = (alias: string): RawBuilder<unknown> =>
  sql`jsonb_build_object('uid', ${sql.ref(`${alias}.principal_id`)}, 'type', ${sql.ref(`${alias}.type`)},
    'display_name', ${sql.ref(`${alias}.display_name`)})`

export const instant = (column: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Columns that a driver would read as texts; what is counted never exceeds what a double holds. */
const WIDE_NUMBERS = sql.join(
  ['input_tokens', 'output_tokens', 'run_time_ms'].map(
    (column) => sql`${sql.ref(`r.${column}`)}::double precision as ${sql.ref(column)}`,
  ),
)

/** What the run `r` made: files that are kept here, what it pushed to where others keep it, and what it reported. */
const ARTIFACTS = sql`
  select a.artifact_uid, case a.artifact_type when 'DIFF' then 'FILE' else a.artifact_type end as artifact_type, a.created_at,
    jsonb_strip_nulls(case when a.artifact_type = 'PLAN'
      then jsonb_build_object('document_uid', a.artifact_uid, 'artifact_uid', a.artifact_uid, 'notebook_uid', a.artifact_uid,
        'title', a.title)
      else jsonb_build_object('artifact_uid', a.artifact_uid, 'filename', a.filename, 'filepath', a.filepath,
        'mime_type', a.mime_type, 'size_bytes', a.size_bytes, 'title', a.title, 'description', a.description) end)
    || coalesce((select jsonb_build_object('diff', jsonb_build_object('turn', d.turn,
      'files_changed', d.files_changed, 'additions', d.additions, 'deletions', d.deletions)) from diffs d where d.artifact_uid = a.artifact_uid), '{}') as data
  from artifacts a where a.run_id = r.run_id
  union all
  select p.artifact_uid, case when p.pull_request is null then 'EXTERNAL_REFERENCE' else 'PULL_REQUEST' end, p.created_at,
    case when p.pull_request is null
      then jsonb_build_object('reference_type', 'BRANCH', 'url', p.url, 'title', p.branch)
      else jsonb_build_object('branch', p.branch, 'url', p.url, 'status', p.status) end
  from pushes p where p.run_id = r.run_id
  union all
  select f.artifact_uid, 'EXTERNAL_REFERENCE', f.created_at, jsonb_strip_nulls(jsonb_build_object(
    'reference_type', f.reference_type, 'url', f.url, 'title', f.title))
  from run_references f where f.run_id = r.run_id`

/** `select … from runs r …` with the names of people and the artifacts; a `where` on `r` follows. */
export const selectOfRuns = (columns: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select ${columns}, ${WIDE_NUMBERS}, ${IS_DEBUGGABLE} as is_debuggable, ${person('c')} as creator, ${person('e')} as executor,
    coalesce((select jsonb_agg(jsonb_build_object('artifact_type', a.artifact_type,
      'created_at', ${instant(sql`a.created_at`)}, 'data', a.data) order by a.artifact_uid)
      from (${ARTIFACTS}) a), '[]') as artifacts, ${USAGE_OF_RUN} as usage
  from runs r join principals c on c.principal_id = r.creator_id join principals e on e.principal_id = r.principal_id`

/** What was added to the prompt of the run `r` while it waited. */
export const EARLY_MESSAGES = sql`(
  select string_agg(f.message, E'\n\n' order by f.position) from followups f
  where f.run_id = r.run_id and f.outcome = 'queued_prompt' and f.message <> '')`

const selectRuns = selectOfRuns(sql`r.*, ${EARLY_MESSAGES} as early_messages`)

/** `null` when there is none or the caller may not see it: the two look the same from outside. */
export async function findRun(db: Db, run_id: string, actor: Actor): Promise<RunRow | null> {
  const found = await sql<RunRow>`${selectRuns} where r.run_id = ${run_id} and ${visibleTo(actor)}`.execute(
    db,
  )
  return found.rows[0] ?? null
}

/** What the caller may see of a conversation: whether a run of it is personal. `null` when that is nothing. */
export async function findConversation(
  db: Db,
  conversation_id: string,
  actor: Actor,
): Promise<{ personal: boolean } | null> {
  const found = await sql<{ personal: boolean | null }>`
    select bool_or(r.scope = 'User') as personal from runs r
    where r.conversation_id = ${conversation_id} and ${visibleTo(actor)}`.execute(db)
  const personal = found.rows[0]?.personal ?? null
  return personal === null ? null : { personal }
}

/** The runs of a conversation that the caller may see, oldest first. */
export async function listConversationRuns(
  db: Db,
  conversation_id: string,
  actor: Actor,
): Promise<Array<{ run_id: string; creator_id: string; principal_id: string }>> {
  const found = await sql<{ run_id: string; creator_id: string; principal_id: string }>`
    select r.run_id, r.creator_id, r.principal_id from runs r
    where r.conversation_id = ${conversation_id} and ${visibleTo(actor)} order by r.run_id`.execute(db)
  return found.rows
}

/** The newest run of a conversation that the caller may see; `null` when there is none. */
export async function findNewestRun(db: Db, conversation_id: string, actor: Actor): Promise<RunRow | null> {
  const found = await sql<RunRow>`${selectRuns}
    where r.conversation_id = ${conversation_id} and ${visibleTo(actor)} order by r.run_id desc limit 1`.execute(
    db,
  )
  return found.rows[0] ?? null
}

/** Whether who executes the run may not any more. */
export async function isOrphaned(db: Db, run_id: string): Promise<boolean> {
  const found = await sql<{ disabled: boolean }>`
    select e.disabled from runs r join principals e on e.principal_id = r.principal_id where r.run_id = ${run_id}::uuid`.execute(
    db,
  )
  return found.rows[0]?.disabled === true
}

/** Whole runs for their worker, whoever may see them. */
export async function readRuns(db: Db, run_ids: readonly string[]): Promise<RunRow[]> {
  const found = await sql<RunRow>`${selectRuns} where r.run_id = any(${[...run_ids]}::uuid[])`.execute(db)
  return found.rows
}

/**
 * Makes a change of a run, or says why it cannot be. A run whose state allows it after all has changed between the two
 * questions (a worker claimed it, a follow-up began it again), so the change is tried again.
 */
export async function changeOrRefuse(
  db: Db,
  to: {
    run_id: string
    actor: Actor
    /** False: the run is not in a state that allows it, or there is none. */
    change: () => Promise<boolean>
    /** `null`: the state allows it. */
    refusalOf: (state: RunState) => AppError | null
  },
): Promise<void> {
  for (let tries = 0; tries < 5; tries += 1) {
    if (await to.change()) return
    const run = await findRun(db, to.run_id, to.actor)
    if (!run) throw new AppError('resource_not_found', 'There is no run with this id.')
    const refusal = to.refusalOf(run.state)
    if (refusal) throw refusal
  }
  throw new AppError('conflict', 'The run changed at each of five tries. Try again.')
}

export const refusalOfEnded = (state: RunState): AppError | null =>
  isTerminal(state) ? new AppError('invalid_request', `The run has already ended: it is ${state}.`) : null

/**
 * Asks the worker to stop the current turn: what the log holds now. It waits on the row until a worker has done so, be it
 * another one, and messages that come after it are delivered after that.
 */
export async function interruptRun(db: Db, run_id: string, actor: Actor): Promise<void> {
  const interrupted = async (): Promise<boolean> => {
    const changed = await sql`
      update runs r set interrupt_sequence = coalesce(r.interrupt_sequence, r.last_sequence)
      where r.run_id = ${run_id} and ${visibleTo(actor)} and ${AT_WORK} returning 1`.execute(db)
    return changed.rows.length > 0
  }
  await changeOrRefuse(db, { run_id, actor, change: interrupted, refusalOf: refusalOfIdle })
}

/** Hides the run from lists, or shows it again; said twice it stays as it is. */
export async function archiveRun(db: Db, run_id: string, actor: Actor, archived: boolean): Promise<void> {
  const changed = async (): Promise<boolean> => {
    const done = await sql`
      update runs r set updated_at = case when (r.archived_at is null) = ${archived} then next_update(r.updated_at) else r.updated_at end,
        archived_at = ${archived ? sql`coalesce(r.archived_at, ${now})` : sql`null`}
      where r.run_id = ${run_id} and ${visibleTo(actor)}
        ${archived ? sql`and r.state in (${among(RESTING_STATES)})` : sql``} returning 1`.execute(db)
    return done.rows.length > 0
  }
  await changeOrRefuse(db, { run_id, actor, change: changed, refusalOf: refusalToArchive })
}

const refusalToArchive = (state: RunState): AppError | null =>
  isResting(state)
    ? null
    : new AppError(
        'conflict',
        `The run has not ended: it is ${state}. Archive it when it has, or cancel it first.`,
      )

/** False: the caller sees no such run. */
export async function renameRun(db: Db, run_id: string, actor: Actor, title: string): Promise<boolean> {
  const done = await sql`
    update runs r set title = ${title}, updated_at = next_update(r.updated_at)
    where r.run_id = ${run_id} and ${visibleTo(actor)} returning 1`.execute(db)
  return done.rows.length > 0
}

function refusalOfIdle(state: RunState): AppError | null {
  if (state === 'QUEUED')
    return new AppError('conflict', 'The run is queued: there is no turn to interrupt yet.')
  if (state === 'BLOCKED') {
    return new AppError('conflict', 'The run is blocked: there is no turn to interrupt.', {
      retryable: false,
    })
  }
  return refusalOfEnded(state)
}
