import { sql } from 'kysely'
import { AppError } from '../contract/error.ts'
import { UNFINISHED_STATES } from '../contract/state.ts'
import type { Db } from './db.ts'
import { among } from './sql-fragments.ts'

/** In every sentence that says that there is no room for a run, and in no other. */
export const ROOM = 'RUNYARD_MAX_OPEN_RUNS'

/** Runs that may be queued or worked on at once; 0: no limit. */
export interface OpenRunMaxima {
  /** Of whoever creates runs. Not of whoever executes them: everybody can make identities. */
  principal: number
  /** Of the installation. */
  total: number
}

/** How far a tree of runs may grow. */
export interface TreeMaxima {
  /** Directly below the parent. */
  children: number
  /** Below the first run. */
  below: number
}

export interface RunMaxima {
  open: OpenRunMaxima
  /** Of a run with a parent. */
  tree?: TreeMaxima
}

/** A run of minutes may be among those in the way. */
const RETRY_S = 30

/** Of a run to be. */
interface Placed {
  creator_id: string
  charged_to?: string | null
  parent_run_id: string | null
  root_run_id: string
}

const payerOf = ({ charged_to, creator_id }: Placed): string => charged_to ?? creator_id

/** Whether anything has to be counted, and so a transaction. */
export const isLimited = ({ open, tree }: RunMaxima): boolean =>
  open.principal > 0 || open.total > 0 || tree !== undefined

/**
 * Lets one creator at a time through, until the transaction ends: what is counted after it holds until then. Locks are taken in
 * one order everywhere.
 */
export async function lockRoom(trx: Db, run: Placed, { open, tree }: RunMaxima): Promise<void> {
  const names = [
    ...(open.total > 0 ? ['runs'] : []),
    ...(open.principal > 0 ? [`runs of ${payerOf(run)}`] : []),
    ...(tree ? [`runs below ${run.root_run_id}`] : []),
  ]
  for (const name of names)
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 28))`.execute(trx)
}

/** Throws where there is no room for one more run. Within the transaction that holds the locks. */
export async function requireRoom(trx: Db, run: Placed, { open, tree }: RunMaxima): Promise<void> {
  if (open.principal > 0 || open.total > 0) {
    const counted = await sql<{ own: number; all: number }>`
      select (select count(*)::int from (select 1 from runs where coalesce(charged_to, creator_id) = ${payerOf(run)}::uuid
          and state in (${among(UNFINISHED_STATES)}) limit ${open.principal}::int) o) as own,
        (select count(*)::int from (select 1 from runs
          where state in (${among(UNFINISHED_STATES)}) limit ${open.total}::int) a) as all`.execute(trx)
    const { own = 0, all = 0 } = counted.rows[0] ?? {}
    if (open.principal > 0 && own >= open.principal) {
      throw tooMany(
        `${open.principal} runs of the same person or service account are queued or worked on, which is the most at once (${ROOM}).`,
      )
    }
    if (open.total > 0 && all >= open.total) {
      throw tooMany(
        `${open.total} runs are queued or worked on, which is the most at once here (${ROOM}_TOTAL).`,
      )
    }
  }
  const full = tree && (await findFullTree(trx, run, tree))
  if (full) throw new AppError('invalid_request', full)
}

const tooMany = (detail: string): AppError =>
  new AppError('resource_unavailable', detail, { status: 429, headers: { 'retry-after': String(RETRY_S) } })

/** Why there may be no further run below this parent; `null`: there may. */
export async function findFullTree(
  db: Db,
  { parent_run_id, root_run_id }: Pick<Placed, 'parent_run_id' | 'root_run_id'>,
  { children: most_children, below: most_below }: TreeMaxima,
): Promise<string | null> {
  if (parent_run_id === null) return null
  const { children } = await countBelow(db, parent_run_id, most_below)
  if (children >= most_children && most_children < most_below)
    return `A run creates at most ${most_children} others.`
  const { all } = await countBelow(db, root_run_id, most_below)
  return all >= most_below
    ? `There are ${most_below} runs below the first one of this tree, which is the most.`
    : null
}

/** How many runs are below one, and how many of them directly; `most` is as far as is counted. */
export async function countBelow(
  db: Db,
  run_id: string,
  most: number,
): Promise<{ all: number; children: number }> {
  // The second condition lets the partial index serve the first.
  const found = await sql<{ all: number; children: number }>`
    select count(*)::int as all, (count(*) filter (where parent_run_id = ${run_id}::uuid))::int as children
    from (select parent_run_id from runs
      where ancestor_run_ids @> array[${run_id}]::uuid[] and parent_run_id is not null limit ${most}::int) below`.execute(
    db,
  )
  return found.rows[0] ?? { all: 0, children: 0 }
}
