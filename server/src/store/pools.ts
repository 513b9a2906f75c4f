import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { ListPoolsQuery, Pool } from '../contract/pool.ts'
import { brokenCursor, decodeCursor, encodeCursor, isPlainText } from './cursor.ts'
import type { Db } from './db.ts'

/**
 * One page by name of the pools that somebody may name for a run: those that have workers, that are granted to somebody, and the
 * default one. Any other name is a pool too, as soon as a run names it; nobody serves it yet.
 */
export async function listPools(
  db: Db,
  { limit = 100, cursor }: ListPoolsQuery,
  { principal_id, role }: Pick<Actor, 'principal_id' | 'role'>,
  default_pool: string,
): Promise<{ pools: Pool[]; next_cursor: string | null }> {
  const beyond = cursor === undefined ? sql`` : sql`and n.name > ${readPosition(cursor)}::text collate "C"`
  const { rows } = await sql<Pool>`
    with n (name) as (
      select pool collate "C" from workers where not lost
      union select ${default_pool}::text
      union select resource_id from grants where resource_type = 'pool')
    select n.name, n.name = ${default_pool} as is_default, g.given > 0 as restricted, w.workers, w.workers_ready, w.slots,
      (select count(*)::int from runs r where r.worker_id is not null and r.pool = n.name) as slots_busy,
      (select count(*)::int from runs r where r.state = 'QUEUED' and r.worker_id is null and r.pool = n.name) as queued_runs
    from n cross join lateral (
        select count(*)::int as given, count(*) filter (where principal_id = ${principal_id}::uuid) > 0 as is_own
        from grants where resource_type = 'pool' and resource_id = n.name) g
      cross join lateral (
        select count(*)::int as workers, count(*) filter (where not (draining or disk_full))::int as workers_ready,
          coalesce(sum(slots) filter (where not (draining or disk_full)), 0)::int as slots
        from workers where not lost and pool = n.name) w
    where (g.given = 0 or g.is_own or ${role === 'admin'}::boolean) ${beyond}
    order by n.name limit ${limit + 1}::int`.execute(db)
  const pools = rows.slice(0, limit)
  const last = pools.at(-1)
  return { pools, next_cursor: last && rows.length > limit ? encodeCursor([last.name]) : null }
}

/** Whether somebody may use the pool: nobody was named for it, or they were, or they are an admin. */
export const isOpenPool = (
  pool: RawBuilder<unknown>,
  { principal_id, role }: Pick<Actor, 'principal_id' | 'role'>,
): RawBuilder<boolean> => sql<boolean>`(${role === 'admin'}::boolean
  or not exists (select from grants where resource_type = 'pool' and resource_id = ${pool})
  or exists (select from grants where resource_type = 'pool' and resource_id = ${pool} and principal_id = ${principal_id}::uuid))`

function readPosition(cursor: string): string {
  const [name] = decodeCursor(cursor, 1)
  if (!isPlainText(name)) throw brokenCursor()
  return name
}
