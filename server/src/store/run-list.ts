import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { kindOfReference, NO_ENVIRONMENT } from '../contract/environment-name.ts'
import { AppError } from '../contract/error.ts'
import {
  type ListRunsQuery,
  ME,
  RunSourceType,
  SORT_KEYS,
  type SortKey,
  TaskStatus,
} from '../contract/run.ts'
import { idsBeginningWith, isUuid, runIdIn } from '../contract/run-id.ts'
import { RunState, TERMINAL_STATES, UNFINISHED_STATES } from '../contract/state.ts'
import { brokenCursor, decodeCursor, encodeCursor, isMoment, isPlainText } from './cursor.ts'
import type { Db } from './db.ts'
import { findEnvironmentId } from './environments.ts'
import { cutPage, isFollowed, type Paged } from './page.ts'
import { hasUrl } from './run-urls.ts'
import { EARLY_MESSAGES, type RunRow, selectOfRuns, visibleTo } from './runs.ts'
import { among } from './sql-fragments.ts'
import { json } from './storable.ts'

/** Where a page ends: the sort it belongs to, the last row's sort value and id. */
interface Position {
  by: SortKey
  order: 'asc' | 'desc'
  value: string | null
  run_id: string
}

/** Columns as they are; the rest of a run is not listed, or only its beginning. */
const LISTED = [
  'run_id',
  'state',
  'scope',
  'principal_id',
  'worker_id',
  'attempt',
  'execution',
  'debug',
  'debug_until',
  'title',
  'skill_spec',
  'source',
  'schedule',
  'trigger',
  'resolved',
  'metadata',
  'conversation_id',
  'parent_run_id',
  'root_run_id',
  'replay_of_run_id',
  'fork_of',
  'status_message',
  'result',
  'inference_cost_usd',
  'created_at',
  'updated_at',
  'claimed_at',
  'started_at',
  'finished_at',
  'archived_at',
] as const satisfies Array<keyof RunRow>

/** A run without what only its worker needs. */
export interface ListedRun
  extends Pick<
    RunRow,
    | (typeof LISTED)[number]
    | 'prompt'
    | 'early_messages'
    | 'config'
    | 'input_tokens'
    | 'output_tokens'
    | 'run_time_ms'
    | 'creator'
    | 'executor'
    | 'artifacts'
    | 'usage'
    | 'is_debuggable'
  > {
  prompt_truncated: boolean
  /** Of `config`. */
  base_prompt_truncated: boolean
}

/** Of each text that may be long, a list has as many characters as the search looks at. */
export const LISTED_CHARACTERS = 2048
const CHARACTERS = sql.lit(LISTED_CHARACTERS)

// Sizes are compared in bytes: for them the text need not be read.
const select = selectOfRuns(sql`${sql.join(LISTED.map((column) => sql.ref(`r.${column}`)))},
  left(r.prompt, ${CHARACTERS}) as prompt, left(${EARLY_MESSAGES}, ${CHARACTERS}) as early_messages,
  octet_length(r.prompt) > octet_length(left(r.prompt, ${CHARACTERS})) as prompt_truncated,
  case when char_length(r.config->>'base_prompt') > ${CHARACTERS}
    then jsonb_set(r.config, '{base_prompt}', to_jsonb(left(r.config->>'base_prompt', ${CHARACTERS})))
    else r.config end as config,
  coalesce(char_length(r.config->>'base_prompt') > ${CHARACTERS}, false) as base_prompt_truncated`)

/** The last group of an id, backwards, so that ids with the same end are beside each other. Matches the index. */
const INDEXED_END = 12
const INDEXED = sql`reverse(right(r.run_id::text, ${sql.lit(INDEXED_END)})) collate "C"`

/** Expressions match the indexes; "C" collation sorts the same everywhere. */
const SORT: Record<SortKey, RawBuilder<unknown>> = {
  updated_at: sql`r.updated_at`,
  created_at: sql`r.created_at`,
  title: sql`r.title collate "C"`,
  agent: sql`left(r.skill_spec, 512) collate "C"`,
}

/**
 * One page of the runs the caller may see, by keyset: runs created meanwhile neither repeat nor hide others. It may hold
 * fewer than were asked for, where they are large.
 */
export async function listRuns(
  db: Db,
  query: ListRunsQuery,
  actor: Actor,
): Promise<{ runs: ListedRun[]; next_cursor: string | null }> {
  const by = query.sort_by ?? 'updated_at'
  const order = query.sort_order ?? 'desc'
  const environment_id = await resolveEnvironment(db, query.environment_id)
  const found = await sql<ListedRun & Paged>`${selectPage({ ...query, environment_id }, actor)}`.execute(db)
  const runs = found.rows
  const last = runs.at(-1)
  const more = isFollowed(runs) && last
  return { runs, next_cursor: more ? encodeCursor([by, order, sortValue(last, by), last.run_id]) : null }
}

/** The statement of a page, its environment named by id. */
export function selectPage(
  query: ListRunsQuery & { environment_id: string | undefined },
  actor: Actor,
): RawBuilder<unknown> {
  const { sort_by: by = 'updated_at', sort_order: order = 'desc', limit = 20 } = query
  const position = query.cursor === undefined ? null : readPosition(query.cursor, by, order)
  const conditions = [...filtersOf(query, actor), ...(position ? [after(position)] : [])]
  return cutPage(sql`${select} where ${sql.join(conditions, sql` and `)}`, {
    order: ordering(by, order),
    bytes: sql`octet_length(row_to_json(r)::text)`,
    limit,
  })
}

/** An id stands for itself: its environment may be deleted. */
async function resolveEnvironment(db: Db, reference: string | undefined): Promise<string | undefined> {
  if (reference === undefined || reference === NO_ENVIRONMENT || kindOfReference(reference) === 'id')
    return reference
  const uid = await findEnvironmentId(db, reference)
  if (!uid) throw new AppError('invalid_request', 'environment_id: there is no environment with this name.')
  return uid
}

function ordering(by: SortKey, order: 'asc' | 'desc'): RawBuilder<unknown> {
  const way = order === 'asc' ? sql`asc` : sql`desc`
  // Runs without a skill come last either way.
  const nulls = by === 'agent' ? sql` nulls last` : sql``
  return sql`${SORT[by]} ${way}${nulls}, r.run_id ${way}`
}

function after({ by, order, value, run_id }: Position): RawBuilder<unknown> {
  const beyond = order === 'asc' ? sql`>` : sql`<`
  if (value === null) return sql`(r.skill_spec is null and r.run_id ${beyond} ${run_id}::uuid)`
  const typed = by === 'updated_at' || by === 'created_at' ? sql`${value}::timestamptz` : sql`${value}::text`
  const row = sql`(${SORT[by]}, r.run_id) ${beyond} (${typed}, ${run_id}::uuid)`
  return by === 'agent' ? sql`(${row} or r.skill_spec is null)` : row
}

function sortValue(run: ListedRun, by: SortKey): string | null {
  if (by === 'title') return run.title
  // In characters, as the index has it: JavaScript's units may cut one in two.
  if (by === 'agent') return run.skill_spec === null ? null : [...run.skill_spec].slice(0, 512).join('')
  return run[by].toISOString()
}

/** What the runs `r` of a filter fulfil: the conditions of the list, without a page. */
export async function matching(db: Db, query: ListRunsQuery, actor: Actor): Promise<RawBuilder<unknown>[]> {
  return filtersOf({ ...query, environment_id: await resolveEnvironment(db, query.environment_id) }, actor)
}

/** A list of everything that there is leaves nothing out. */
const unlessWhole = <T>(list: T[] | undefined, all: readonly T[]): T[] | undefined =>
  list && all.every((one) => list.includes(one)) ? undefined : list

/** Whether the filter leaves out any run that the caller may see. */
export const leavesRunsOut = (query: ListRunsQuery, actor: Actor): boolean =>
  filtersOf({ ...query, environment_id: query.environment_id }, actor).length > 1

/** Who may see the runs `r`, and a condition for each filter that leaves any of them out. */
function filtersOf(
  query: ListRunsQuery & { environment_id: string | undefined },
  actor: Actor,
): RawBuilder<unknown>[] {
  const { archived = 'false' } = query
  const given = <T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>) =>
    value === undefined ? [] : [condition(value)]
  return [
    visibleTo(actor),
    ...(archived === 'all'
      ? []
      : [archived === 'true' ? sql`r.archived_at is not null` : sql`r.archived_at is null`]),
    ...given(unlessWhole(query.state, RunState.options), (states) => sql`r.state = any(${states}::text[])`),
    ...given(query.name, (name) => sql`r.name = ${name}`),
    ...given(query.model_id, (model_id) => sql`r.model_id = ${model_id}`),
    ...given(query.creator, (uid) => sql`r.creator_id = ${asPrincipal(uid, actor)}`),
    ...given(query.executor, (uid) => sql`r.principal_id = ${asPrincipal(uid, actor)}`),
    ...given(
      unlessWhole(query.source, RunSourceType.options),
      (sources) => sql`r.source = any(${sources}::text[])`,
    ),
    // Every run executes on a worker, none on the caller's machine.
    ...(query.execution_location === 'LOCAL' ? [sql`false`] : []),
    ...given(query.created_after, (time) => sql`r.created_at > ${time}::timestamptz`),
    ...given(query.created_before, (time) => sql`r.created_at < ${time}::timestamptz`),
    ...given(query.updated_after, (time) => sql`r.updated_at > ${time}::timestamptz`),
    ...given(query.environment_id, (uid) =>
      uid === NO_ENVIRONMENT ? sql`r.environment_id is null` : sql`r.environment_id = ${uid}`,
    ),
    ...[query.skill, query.skill_spec].flatMap((skill) =>
      given(
        skill,
        (spec) => sql`left(r.skill_spec, 512) collate "C" = left(${spec}, 512) and r.skill_spec = ${spec}`,
      ),
    ),
    // The second condition lets the partial index serve the first.
    ...given(
      query.schedule_id,
      (schedule_id) => sql`r.schedule->>'schedule_id' = ${schedule_id} and r.schedule is not null`,
    ),
    ...given(
      query.trigger_id,
      (trigger_id) => sql`r.trigger->>'trigger_id' = ${trigger_id} and r.trigger is not null`,
    ),
    // A range of the primary key: ids are compared, not their texts.
    ...given(query.run_id_prefix, (prefix) => {
      const [lowest, highest] = idsBeginningWith(prefix)
      return sql`r.run_id between ${lowest}::uuid and ${highest}::uuid`
    }),
    ...given(query.run_id_suffix, (suffix) => {
      const end = [...suffix.slice(-INDEXED_END)].reverse().join('')
      return sql`(${INDEXED} >= ${end} and ${INDEXED} < ${`${end}g`} and right(r.run_id::text, ${suffix.length}) = ${suffix})`
    }),
    ...(query.needs_attention ? [NEEDS_ATTENTION] : []),
    ...given(unlessWhole(query.task_status, TaskStatus.options), (statuses) =>
      hasTaskStatus(statuses, actor),
    ),
    ...given(
      query.automation_id,
      (id) => sql`r.metadata @> ${json({ automation_id: id })} and r.metadata <> '{}'`,
    ),
    // No run belongs to a factory.
    ...given(query.factory_uid, () => sql`false`),
    ...(query.factory_only ? [sql`false`] : []),
    ...given(
      query.ancestor_run_id,
      (run_id) => sql`r.ancestor_run_ids @> array[${run_id}]::uuid[] and r.parent_run_id is not null`,
    ),
    ...given(
      query.artifact_type,
      (type) =>
        sql`(exists (select 1 from artifacts a where a.run_id = r.run_id and a.artifact_type = ${type})
          or exists (select 1 from pushes p where p.run_id = r.run_id
            and ${type} = case when p.pull_request is null then 'EXTERNAL_REFERENCE' else 'PULL_REQUEST' end)
          or ${type} = 'EXTERNAL_REFERENCE' and exists (select 1 from run_references f where f.run_id = r.run_id))`,
    ),
    ...given(query.reference_url, hasUrl),
    // Here, too.
    ...(Object.keys(query.metadata ?? {}).length > 0
      ? [sql`r.metadata @> ${json(query.metadata)} and r.metadata <> '{}'`]
      : []),
    ...given(query.q?.trim() ? query.q : undefined, (text) => {
      const run_id = runIdIn(text)
      const worded = sql`(r.title || ' ' || left(r.prompt, 2048) || ' ' || coalesce(r.skill_spec, '')) ilike ${`%${escapeLike(text)}%`}`
      return run_id === null ? worded : sql`(r.run_id = ${run_id}::uuid or ${worded})`
    }),
  ]
}

/** Each part has an index of its own, so that the runs are found without reading the others. */
const NEEDS_ATTENTION = sql`r.run_id in (
  select b.run_id from runs b
  where b.state = 'BLOCKED' and coalesce(b.status_message->>'waits_for', '') <> 'message'
  union all
  select f.run_id from runs f
  where f.state = 'FAILED' and f.status_message->>'error_code' = 'environment_setup_failed'
    and f.created_at > now() - interval '7 days'
  union all
  select p.run_id from pushes p join runs o on o.run_id = p.run_id
  where p.pull_request is not null and p.status = 'open' and p.branch = 'runyard/' || p.run_id::text and o.state in (${among(TERMINAL_STATES)}))`

const STATES_OF: Record<Exclude<TaskStatus, 'running'>, readonly RunState[]> = {
  failed: ['FAILED', 'ERROR'],
  blocked: ['BLOCKED'],
  cancelled: ['CANCELLED'],
  complete: ['SUCCEEDED'],
}

/** The runs above unfinished ones are looked up once for the whole list: few runs are unfinished, and many have runs below them. */
function hasTaskStatus(statuses: readonly TaskStatus[], actor: Actor): RawBuilder<unknown> {
  const unfinished = among(UNFINISHED_STATES)
  const conditions = statuses.map((status) =>
    status === 'running'
      ? sql`(r.state in (${unfinished}) or r.run_id in (
          select unnest(r.ancestor_run_ids) from runs r
          where r.state in (${unfinished}) and r.parent_run_id is not null and ${visibleTo(actor)}))`
      : sql`r.state in (${among(STATES_OF[status])})`,
  )
  return sql`(${sql.join(conditions, sql` or `)})`
}

const NO_ONE = '00000000-0000-0000-0000-000000000000'
/** An id of another form is nobody's, not an error: ids of people are opaque to callers. */
const asPrincipal = (id: string, { principal_id }: Actor): string =>
  id === ME ? principal_id : isUuid(id) ? id : NO_ONE

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

function readPosition(cursor: string, by: SortKey, order: 'asc' | 'desc'): Position {
  const [sortedBy, sortedOrder, value, run_id] = decodeCursor(cursor, 4)
  if (sortedBy !== by || sortedOrder !== order) {
    if ((SORT_KEYS as readonly unknown[]).includes(sortedBy)) {
      throw new AppError('invalid_request', 'cursor: belongs to another sort_by or sort_order.')
    }
    throw brokenCursor()
  }
  if (typeof run_id !== 'string' || !isUuid(run_id)) throw brokenCursor()
  if (value === null && by === 'agent') return { by, order, value, run_id }
  const isValue: (value: unknown) => value is string =
    by === 'updated_at' || by === 'created_at' ? isMoment : isPlainText
  if (!isValue(value)) throw brokenCursor()
  return { by, order, value, run_id }
}
