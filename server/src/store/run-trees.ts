/** A run with all runs below it, which are cancelled and deleted together. */
import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { ListRunsQuery } from '../contract/run.ts'
import { CANCELLABLE_STATES, RunState, TERMINAL_STATES } from '../contract/state.ts'
import type { Db } from './db.ts'
import { type Deletion, eraseRuns } from './deleted-runs.ts'
import { matching } from './run-list.ts'
import { among, SETTLED } from './sql-fragments.ts'

/** Whether whoever asks may delete the run `r`, with all below it: who created it, who executes it, and admins. */
const mayDelete = ({ principal_id, role }: Actor): RawBuilder<boolean> =>
  role === 'admin'
    ? sql<boolean>`true`
    : sql<boolean>`(r.creator_id = ${principal_id}::uuid or r.principal_id = ${principal_id}::uuid)`

const UNSETTLED_STATES = RunState.options.filter(
  (state) => !(TERMINAL_STATES as readonly RunState[]).includes(state),
)

/** How a run of a tree stands. */
export interface TreeRun {
  run_id: string
  state: RunState
  /** It has ended, its worker has let go of it, and no debug turn is due. */
  is_settled: boolean
  may_delete: boolean
}

/** The run and all below it, the run itself first. Empty: there is none. */
export async function readTree(db: Db, run_id: string, actor: Actor): Promise<TreeRun[]> {
  const { rows } = await selectTree(run_id, actor).execute(db)
  return rows
}

const selectTree = (run_id: string, actor: Actor, lock: RawBuilder<unknown> = sql``) => sql<TreeRun>`
  select r.run_id, r.state, ${SETTLED} as is_settled, ${mayDelete(actor)} as may_delete from runs r
  where r.run_id = ${run_id}::uuid
    or r.ancestor_run_ids @> array[${run_id}::uuid] and r.parent_run_id is not null
  order by r.run_id ${lock}`

/**
 * Deletes a run and all below it in one transaction; their ids. Throws `conflict` when one of them has not ended, and
 * `not_authorized` when the run itself is somebody else's: what agents have begun below it goes with it. Empty: there is no such run.
 */
export async function deleteTree(
  trx: Db,
  run_id: string,
  actor: Actor,
  audit: Deletion['audit'],
): Promise<string[]> {
  // In one order, so that two that delete overlapping trees wait for each other and nothing worse.
  const { rows } = await selectTree(run_id, actor, sql`for update of r`).execute(trx)
  if (!rows.some((run) => run.run_id === run_id)) return []
  if (!rows.find((run) => run.run_id === run_id)?.may_delete) throw notYours()
  const open = rows.find(({ is_settled }) => !is_settled)
  if (open) throw stillOpen(open, run_id)
  const run_ids = rows.map((run) => run.run_id)
  await eraseRuns(trx, run_ids, { deleted_by: actor.principal_id, audit })
  return run_ids
}

export const notYours = (): AppError =>
  new AppError('not_authorized', 'Only the run’s creator or an admin can delete it.')

const stillOpen = ({ run_id, state }: TreeRun, root: string): AppError => {
  const which = run_id === root ? 'The run' : `Run ${run_id} below this one`
  if ((CANCELLABLE_STATES as readonly RunState[]).includes(state))
    return new AppError(
      'conflict',
      `${which} has not ended: it is ${state}. Cancel it first, or delete with cancel=true.`,
      { retryable: false },
    )
  return new AppError(
    'conflict',
    `${which} has ended, but its worker has not let go of it yet. Try again in some seconds.`,
    { headers: { 'retry-after': '2' } },
  )
}

/** What of the runs of a filter can be deleted. */
export interface Deletable {
  /** They have ended, with all below them, which count, too. */
  count: number
  /** They match and have not ended, or a run below them has not: they stay. */
  open: number
}

/** What follows `from runs r where`: those of a filter that the caller may delete. */
const deletable = (filter: readonly RawBuilder<unknown>[], actor: Actor): RawBuilder<boolean> =>
  sql`${sql.join(filter, sql` and `)} and ${mayDelete(actor)}`

/** The run `r` has ended, and so have all below it. */
const HAS_ENDED = sql<boolean>`${SETTLED} and not exists (
  select from runs d where d.ancestor_run_ids @> array[r.run_id] and d.parent_run_id is not null
    and not (select ${SETTLED} from (select d.*) r))`

export async function countDeletable(db: Db, query: ListRunsQuery, actor: Actor): Promise<Deletable> {
  const filter = await matching(db, query, actor)
  const { rows } = await sql<Deletable>`
    with found as materialized (
      select r.run_id, ${HAS_ENDED} as has_ended from runs r where ${deletable(filter, actor)})
    select (select count(*)::int from (
        select run_id from found where has_ended
        union select d.run_id from runs d, unnest(d.ancestor_run_ids) a
          where d.parent_run_id is not null and a in (select run_id from found where has_ended)) all_of_them) as count,
      (select count(*)::int from found where not has_ended) as open`.execute(db)
  return rows[0] ?? { count: 0, open: 0 }
}

/** As many as these of a filter stay: they, or a run below them, have not ended. */
export async function countOpen(db: Db, query: ListRunsQuery, actor: Actor): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::int as open from runs r where ${await isOpen(db, query, actor)}`.execute(db)
  return rows[0]?.open ?? 0
}

/** The first runs of a filter that can be deleted, or that have to be cancelled before. */
export async function findDeletable(
  db: Db,
  query: ListRunsQuery,
  actor: Actor,
  { which, most }: { which: 'ended' | 'open'; most: number },
): Promise<string[]> {
  const condition =
    which === 'open'
      ? await isOpen(db, query, actor)
      : sql`${deletable(await matching(db, query, actor), actor)} and ${HAS_ENDED}`
  const { rows } = await sql<{ run_id: string }>`
    select r.run_id from runs r where ${condition} order by r.run_id limit ${most}::int`.execute(db)
  return rows.map(({ run_id }) => run_id)
}

/**
 * Found from the runs that have not ended, which are few: whoever deletes a hundred thousand by calls of 200 asks for these each
 * time.
 */
async function isOpen(db: Db, query: ListRunsQuery, actor: Actor): Promise<RawBuilder<boolean>> {
  const filter = deletable(await matching(db, query, actor), actor)
  return sql`r.run_id in (
      with unsettled as materialized (
        select r.run_id, r.ancestor_run_ids, r.parent_run_id from runs r
        where r.worker_id is not null or r.debug is not null or r.state = any(${UNSETTLED_STATES}::text[]))
      select run_id from unsettled
      union select unnest(ancestor_run_ids) from unsettled where parent_run_id is not null)
    and ${filter}`
}

/**
 * Of runs that the caller may delete, and of which some may be gone or open by now, deletes those that are not, with all below
 * them; the ids of all.
 */
export async function deleteTrees(
  trx: Db,
  run_ids: readonly string[],
  actor: Pick<Actor, 'principal_id'>,
  audit: Deletion['audit'],
): Promise<string[]> {
  const { rows } = await sql<Pick<TreeRun, 'run_id' | 'is_settled'> & { ancestor_run_ids: string[] }>`
    select r.run_id, r.ancestor_run_ids, ${SETTLED} as is_settled from runs r
    where r.run_id = any(${[...run_ids]}::uuid[])
      or r.ancestor_run_ids && ${[...run_ids]}::uuid[] and r.parent_run_id is not null
    order by r.run_id for update of r`.execute(trx)
  // One that goes on again, or that another one joined, stays with all above it.
  const staying = new Set(
    rows
      .filter(({ is_settled }) => !is_settled)
      .flatMap(({ run_id, ancestor_run_ids }) => [run_id, ...ancestor_run_ids]),
  )
  const going = new Set(run_ids.filter((run_id) => !staying.has(run_id)))
  const gone = rows
    .filter(({ run_id, ancestor_run_ids }) => [run_id, ...ancestor_run_ids].some((id) => going.has(id)))
    .map(({ run_id }) => run_id)
  await eraseRuns(trx, gone, { deleted_by: actor.principal_id, audit })
  return gone
}

/** Which of these, and of those below them, are to be cancelled first. */
export async function findCancellable(db: Db, run_ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ run_id: string }>`
    select r.run_id from runs r
    where (r.run_id = any(${[...run_ids]}::uuid[])
        or r.ancestor_run_ids && ${[...run_ids]}::uuid[] and r.parent_run_id is not null)
      and r.state in (${among(CANCELLABLE_STATES)})
    order by r.run_id`.execute(db)
  return rows.map(({ run_id }) => run_id)
}
