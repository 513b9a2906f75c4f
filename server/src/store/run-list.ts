import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import { type ListRunsQuery, SORT_KEYS, type SortKey } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { Db } from './db.ts'
import { type RunRow, selectRuns, visibleTo } from './runs.ts'
import { json } from './storable.ts'

/** Where a page ends: the sort it belongs to, the last row's sort value and id. */
interface Position {
  by: SortKey
  order: 'asc' | 'desc'
  value: string | null
  run_id: string
}

/** Expressions match the indexes; "C" collation sorts the same everywhere. */
const SORT: Record<SortKey, RawBuilder<unknown>> = {
  updated_at: sql`r.updated_at`,
  created_at: sql`r.created_at`,
  title: sql`r.title collate "C"`,
  agent: sql`left(r.skill_spec, 512) collate "C"`,
}

/** One page of the runs the caller may see, by keyset: runs created meanwhile neither repeat nor hide others. */
export async function listRuns(
  db: Db,
  query: ListRunsQuery,
  actor: Actor,
): Promise<{ runs: RunRow[]; next_cursor: string | null }> {
  const by = query.sort_by ?? 'updated_at'
  const order = query.sort_order ?? 'desc'
  const limit = query.limit ?? 20
  const position = query.cursor === undefined ? null : decodeCursor(query.cursor, by, order)
  const conditions = [...filtersOf(query, actor), ...(position ? [after(position)] : [])]
  const found = await sql<RunRow>`
    ${selectRuns} where ${sql.join(conditions, sql` and `)}
    order by ${ordering(by, order)} limit ${limit + 1}`.execute(db)
  const runs = found.rows.slice(0, limit)
  const last = runs.at(-1)
  const more = found.rows.length > limit && last
  return {
    runs,
    next_cursor: more ? encodeCursor({ by, order, value: sortValue(last, by), run_id: last.run_id }) : null,
  }
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

function sortValue(run: RunRow, by: SortKey): string | null {
  if (by === 'title') return run.title
  // In characters, as the index has it: JavaScript's units may cut one in two.
  if (by === 'agent') return run.skill_spec === null ? null : [...run.skill_spec].slice(0, 512).join('')
  return run[by].toISOString()
}

function filtersOf(query: ListRunsQuery, actor: Actor): RawBuilder<unknown>[] {
  const given = <T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>) =>
    value === undefined ? [] : [condition(value)]
  return [
    visibleTo(actor),
    ...given(query.state, (states) => sql`r.state = any(${states}::text[])`),
    ...given(query.name, (name) => sql`r.name = ${name}`),
    ...given(query.model_id, (model_id) => sql`r.model_id = ${model_id}`),
    ...given(query.creator, (uid) => sql`r.creator_id = ${asUuid(uid)}`),
    ...given(query.executor, (uid) => sql`r.principal_id = ${asUuid(uid)}`),
    ...given(query.source, (source) => sql`r.source = ${source}`),
    // Every run executes on a worker, none on the caller's machine.
    ...given(query.execution_location, (place) => (place === 'LOCAL' ? sql`false` : sql`true`)),
    ...given(query.created_after, (time) => sql`r.created_at > ${time}::timestamptz`),
    ...given(query.created_before, (time) => sql`r.created_at < ${time}::timestamptz`),
    ...given(query.updated_after, (time) => sql`r.updated_at > ${time}::timestamptz`),
    ...given(query.environment_id, (uid) =>
      uid === 'empty-environment' ? sql`r.environment_id is null` : sql`r.environment_id = ${uid}`,
    ),
    ...given(
      query.skill ?? query.skill_spec,
      (skill) => sql`left(r.skill_spec, 512) collate "C" = left(${skill}, 512) and r.skill_spec = ${skill}`,
    ),
    // No run comes from a schedule yet: nothing matches, rather than everything.
    ...given(query.schedule_id, () => sql`false`),
    ...given(
      query.ancestor_run_id,
      (run_id) => sql`r.ancestor_run_ids @> array[${run_id}]::uuid[] and r.parent_run_id is not null`,
    ),
    ...given(
      query.artifact_type,
      (type) =>
        sql`exists (select 1 from artifacts a where a.run_id = r.run_id and a.artifact_type = ${type})`,
    ),
    // The second condition lets the partial index serve the first.
    ...given(query.metadata, (pairs) => sql`r.metadata @> ${json(pairs)} and r.metadata <> '{}'`),
    ...given(
      query.q,
      (text) =>
        sql`(r.title || ' ' || left(r.prompt, 2048) || ' ' || coalesce(r.skill_spec, '')) ilike ${`%${escapeLike(text)}%`}`,
    ),
  ]
}

const NO_ONE = '00000000-0000-0000-0000-000000000000'
/** An id of another form is nobody's, not an error: ids of people are opaque to callers. */
const asUuid = (id: string): string => (isUuid(id) ? id : NO_ONE)

const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** A time as this service writes it and PostgreSQL reads it. */
const isMoment = (text: string): boolean =>
  /^(?!0000)\d{4}-/.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString() === text

const encodeCursor = (position: Position): string =>
  Buffer.from(JSON.stringify([position.by, position.order, position.value, position.run_id])).toString(
    'base64url',
  )

function decodeCursor(cursor: string, by: SortKey, order: 'asc' | 'desc'): Position {
  const broken = () => new AppError('invalid_request', 'cursor: is not one this service gave out.')
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    throw broken()
  }
  if (!Array.isArray(parts) || parts.length !== 4) throw broken()
  const [sortedBy, sortedOrder, value, run_id] = parts as unknown[]
  if (sortedBy !== by || sortedOrder !== order) {
    if ((SORT_KEYS as readonly unknown[]).includes(sortedBy)) {
      throw new AppError('invalid_request', 'cursor: belongs to another sort_by or sort_order.')
    }
    throw broken()
  }
  if (typeof run_id !== 'string' || !isUuid(run_id)) throw broken()
  if (value === null ? by !== 'agent' : typeof value !== 'string') throw broken()
  if (typeof value === 'string') {
    if (value.includes('\u0000')) throw broken()
    if ((by === 'updated_at' || by === 'created_at') && !isMoment(value)) throw broken()
  }
  return { by, order, value: value as string | null, run_id }
}
