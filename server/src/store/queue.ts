import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { QueuedRun, QueueQuery } from '../contract/worker.ts'
import type { Db } from './db.ts'
import { isOpenPool } from './pools.ts'
import { person, visibleTo } from './runs.ts'

/** A queue of a pool, as answers have it but for its time. */
export interface StoredQueue {
  name: string
  queued_runs: number
  oldest_since: Date
  workers_ready: number
  slots: number
  slots_free: number
}

/** More than that is not counted. */
export const MOST_COUNTED = 10_000
const WAITS = sql`state = 'QUEUED' and worker_id is null`

/**
 * The pools that runs wait for, of those that the caller may use. Each is one look into an index, so that long queues cost little.
 * A name that nobody serves and nobody was granted comes from somebody's request: admins see it, and others the reason of their own
 * run.
 */
export async function readQueues(db: Db, query: QueueQuery, actor: Actor): Promise<StoredQueue[]> {
  return (await queues(query, actor).execute(db)).rows
}

/** The statement. */
export const queues = ({ pool }: QueueQuery, actor: Actor): RawBuilder<StoredQueue> => sql<StoredQueue>`
    with recursive heads (name, oldest_since) as (
      (select pool, updated_at from runs where ${WAITS} ${onlyOf(pool)} order by pool, updated_at limit 1)
      union all
      select n.* from heads h cross join lateral (
        select pool, updated_at from runs where ${WAITS} ${onlyOf(pool)} and pool > h.name
        order by pool, updated_at limit 1) n),
    q as materialized (
      select h.*, (select count(*)::int from (select from runs where ${WAITS} and pool = h.name limit ${MOST_COUNTED}) c) as queued_runs
      from heads h limit 500)
    select q.*, w.workers_ready, w.slots, w.slots_free from q cross join lateral (
      select count(*) > 0 as is_served, count(*) filter (where is_ready)::int as workers_ready,
        coalesce(sum(slots) filter (where is_ready), 0)::int as slots,
        coalesce(sum(greatest(slots - held, 0)) filter (where is_ready), 0)::int as slots_free
      from (
        select slots, not (draining or disk_full) as is_ready,
          (select count(*) from runs r where r.worker_id = workers.worker_id) as held
        from workers where not lost and workers.pool = q.name) each_one) w
    where ${isOpenPool(sql`q.name`, actor)} and (${actor.role === 'admin'}::boolean or w.is_served
      or exists (select from grants where resource_type = 'pool' and resource_id = q.name))
    order by q.queued_runs desc, q.name collate "C"`

export interface StoredQueuedRun extends Pick<QueuedRun, 'run_id' | 'title' | 'creator'> {
  queued_since: Date
}

/** The runs that wait, of those that the caller may see, oldest first. One more than `limit` where there are more. */
export async function readQueuedRuns(
  db: Db,
  query: QueueQuery & { limit: number },
  actor: Actor,
): Promise<StoredQueuedRun[]> {
  return (await queuedRuns(query, actor).execute(db)).rows
}

/** The statement. */
export const queuedRuns = (
  { pool, limit }: QueueQuery & { limit: number },
  actor: Actor,
): RawBuilder<StoredQueuedRun> => sql<StoredQueuedRun>`
    select r.run_id, r.title, r.updated_at as queued_since, ${person('c')} as creator
    from (
      select * from runs r where r.state = 'QUEUED' and r.worker_id is null and ${visibleTo(actor)} ${onlyOf(pool)}
      order by r.run_id limit ${limit + 1}::int) r
    join principals c on c.principal_id = r.creator_id order by r.run_id`

const onlyOf = (pool: string | undefined) => (pool === undefined ? sql`` : sql`and pool = ${pool}::text`)
