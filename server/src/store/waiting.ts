import { sql } from 'kysely'
import type { Db } from './db.ts'

/** What decides when a queued run starts. */
export interface QueueFacts {
  run_id: string
  pool: string
  /** What the request names. */
  agent: string | null
  /** Workers of its pool that are alive, and those of them that take runs. */
  workers: number
  ready: number
  /** Slots of the ready ones, and how many are free. */
  slots: number
  free: number
  /** The same of those that have its agent, or all where its environment may bring it; where none has it all may take it. */
  fit_slots: number
  fit_free: number
  /** Of the principal that executes it. */
  running: number
  max_running: number
  disabled: boolean
  ahead: number
}

/** More than that is not counted: a queue may hold very many, and people only want to know that it is long. */
const MOST_AHEAD = 100

/**
 * What the claim of a worker looks at (`claim.sql`), of those of the runs that are queued. The ids are looked up, and the runs at
 * work counted, before anything else: while PostgreSQL has no statistics, as after a burst of creates, it would read every queued
 * run of a principal for each id, 157 ms in place of 1 for a page of 17,000 queued runs.
 */
export async function readQueueFacts(db: Db, run_ids: readonly string[]): Promise<QueueFacts[]> {
  const { rows } = await sql<QueueFacts>`
    with asked as materialized (
      select r.run_id, r.pool, r.principal_id, r.config->'harness'->>'type' as agent,
        exists (select from environments e where e.uid = r.environment_id and brings_programs(e.config)) as brings
      from unnest(${[...run_ids]}::uuid[]) id cross join lateral (
        select * from runs where run_id = id offset 0) r
      where r.state = 'QUEUED' and r.worker_id is null),
    at_work as materialized (
      select worker_id, principal_id, count(*)::int n from runs where worker_id is not null group by 1, 2),
    busy as materialized (select worker_id, sum(n) n from at_work group by 1),
    able as materialized (
      select w.pool, w.lacking_agents, w.slots, not (w.draining or w.disk_full) as is_ready,
        greatest(w.slots - coalesce(b.n, 0), 0)::int as free
      from workers w left join busy b using (worker_id)
      where not w.lost and w.pool in (select pool from asked))
    select q.run_id, q.pool, q.agent, w.*, p.max_running, p.disabled,
      (select coalesce(sum(a.n), 0)::int from at_work a where a.principal_id = q.principal_id) as running,
      (select count(*)::int from (select 1 from runs o where o.state = 'QUEUED' and o.worker_id is null
        and o.pool = q.pool and o.run_id < q.run_id limit ${MOST_AHEAD}) o) as ahead
    from asked q join principals p using (principal_id) cross join lateral (
      select count(*)::int as workers, count(*) filter (where is_ready)::int as ready,
        coalesce(sum(slots) filter (where is_ready), 0)::int as slots,
        coalesce(sum(free) filter (where is_ready), 0)::int as free,
        coalesce(sum(slots) filter (where is_ready and (q.brings or coalesce(q.agent <> all(lacking_agents), true))), 0)::int as fit_slots,
        coalesce(sum(free) filter (where is_ready and (q.brings or coalesce(q.agent <> all(lacking_agents), true))), 0)::int as fit_free
      from able where able.pool = q.pool) w`.execute(db)
  return rows
}

/** Whether a worker serves the pool, now or when it is done with what keeps it. */
export async function isServed(db: Db, pool: string): Promise<boolean> {
  const { rows } = await sql<{ is_served: boolean }>`
    select exists (select from workers where pool = ${pool}::text and not lost) as is_served`.execute(db)
  return rows[0]?.is_served ?? false
}
