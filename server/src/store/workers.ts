import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { ImagePolicy } from '../contract/image.ts'
import type { KnownModel } from '../contract/model.ts'
import type { WorkerItem } from '../contract/worker.ts'
import type { Db } from './db.ts'
import { isOpenPool } from './pools.ts'
import { visibleTo } from './runs.ts'
import { json } from './storable.ts'

export interface WorkerRegistration {
  worker_id: string
  pool: string
  /** Name of its machine. */
  host: string
  /** Of this program. */
  version: string
  /** Where the sandboxes of its backend can be reached; several workers may have one place. */
  place: string
  /** Runs it executes at once. */
  slots: number
  /** Name of its sandbox backend. */
  sandbox: string
  models: { models: KnownModel[]; default_model_id?: string | undefined }
  /** Agents that surely none of its sandboxes has, but for what environments bring along. */
  lacking_agents: readonly string[]
  /** Which images environments may name there; absent: its sandboxes are made of none. */
  images?: ImagePolicy
}

export async function registerWorker(db: Db, worker: WorkerRegistration): Promise<void> {
  await sql`
    insert into workers (worker_id, pool, host, version, place, slots, sandbox, models, lacking_agents, images)
    values (${worker.worker_id}, ${worker.pool}, ${worker.host}, ${worker.version}, ${worker.place}, ${worker.slots}, ${worker.sandbox},
      ${json(worker.models)}, ${[...worker.lacking_agents]}::text[],
      ${worker.images ? json(worker.images) : null}::jsonb)`.execute(db)
}

/** Of all workers that go on working: which images environments may name there, null where images are not used. */
export async function readImagePolicies(db: Db): Promise<Array<ImagePolicy | null>> {
  const { rows } = await sql<{ images: ImagePolicy | null }>`
    select distinct images from workers where not (lost or draining)`.execute(db)
  return rows.map(({ images }) => images)
}

export async function updateModels(
  db: Db,
  worker_id: string,
  models: WorkerRegistration['models'],
): Promise<void> {
  await sql`update workers set models = ${json(models)} where worker_id = ${worker_id}`.execute(db)
}

export async function updateAgents(db: Db, worker_id: string, lacking: readonly string[]): Promise<void> {
  await sql`update workers set lacking_agents = ${[...lacking]}::text[] where worker_id = ${worker_id}`.execute(
    db,
  )
}

/**
 * Whether a run of the pool would surely not find the agent: every worker of the pool that goes on working lacks it, and the
 * environment brings nothing along. False where there is no such worker: nobody knows then.
 */
export async function isAgentMissing(
  db: Db,
  agent: string,
  { pool, environment_id = null }: { pool: string; environment_id?: string | null | undefined },
): Promise<boolean> {
  const found = await sql<{ missing: boolean }>`
    select count(*) > 0 and coalesce(bool_and(${agent}::text = any(w.lacking_agents)), false)
      and not exists (select 1 from environments e where e.uid = ${environment_id}::text and brings_programs(e.config)) as missing
    from workers w where w.pool = ${pool} and not (w.lost or w.draining)`.execute(db)
  return found.rows[0]?.missing ?? false
}

/** The worker is stopping: others need not leave it the runs whose workspace it keeps. */
export async function drainWorker(db: Db, worker_id: string): Promise<void> {
  await sql`update workers set draining = true where worker_id = ${worker_id}`.execute(db)
}

/** Whether the worker's disk is too full for runs, for others to know. */
export async function markDisk(db: Db, worker_id: string, full: boolean): Promise<void> {
  await sql`update workers set disk_full = ${full} where worker_id = ${worker_id}`.execute(db)
}

/** Whether another worker of the pool could do what this one cannot. */
export async function hasOtherWorker(db: Db, worker: { worker_id: string; pool: string }): Promise<boolean> {
  const found = await sql`
    select 1 from workers where pool = ${worker.pool} and worker_id <> ${worker.worker_id}
      and not (lost or draining or disk_full) limit 1`.execute(db)
  return found.rows.length > 0
}

/** Those of these workers that are alive. */
export async function findLivingWorkers(db: Db, worker_ids: readonly string[]): Promise<Set<string>> {
  const found = await sql<{ worker_id: string }>`
    select worker_id from workers where worker_id = any(${[...worker_ids]}::uuid[]) and not lost`.execute(db)
  return new Set(found.rows.map(({ worker_id }) => worker_id))
}

/** The worker has stopped in order and holds nothing. */
export async function retireWorker(db: Db, worker_id: string): Promise<void> {
  await sql`update workers set lost = true, stopped = true where worker_id = ${worker_id}`.execute(db)
}

/** Embedded: the data directory's lock proves that no other process lives, so every older worker is gone. */
export async function loseAllWorkers(db: Db): Promise<void> {
  await sql`update workers set lost = true where not lost`.execute(db)
}

/** What the live workers can use, each model once; the default is that of the longest-lived worker that has one. */
export async function readModels(db: Db): Promise<{ models: KnownModel[]; default_model_id: string | null }> {
  const found = await sql<{ models: { models: KnownModel[]; default_model_id?: string | undefined } }>`
    select models from workers where not lost order by started_at, worker_id`.execute(db)
  const models = new Map<string, KnownModel>()
  for (const row of found.rows) for (const model of row.models.models) models.set(model.model_id, model)
  const first = found.rows.find((row) => row.models.default_model_id !== undefined)
  return { models: [...models.values()], default_model_id: first?.models.default_model_id ?? null }
}

/** `full`: those of the live ones that claim nothing for want of disk. */
export async function countWorkers(db: Db): Promise<{ live: number; full: number }> {
  const found = await sql<{ live: number; full: number }>`
    select count(*)::int as live, count(*) filter (where disk_full)::int as full from workers where not lost`.execute(
    db,
  )
  return found.rows[0] ?? { live: 0, full: 0 }
}

/** A worker as answers have it, but for its times. */
export interface StoredWorker extends Omit<WorkerItem, 'started_at' | 'seen_at'> {
  started_at: Date
  seen_at: Date | null
}

/**
 * The workers of the pools that the caller may use: those that live, and for an hour those that were lost. One more than `limit`
 * where there are more. Of the runs they hold, those that the caller may see.
 */
export async function listWorkers(
  db: Db,
  { pool, limit }: { pool?: string | undefined; limit: number },
  actor: Actor,
): Promise<StoredWorker[]> {
  const { rows } = await sql<StoredWorker>`
    select w.worker_id, w.pool, w.host, w.version, w.sandbox, w.slots, w.started_at, w.seen_at, h.slots_busy, h.runs,
      case when w.lost then 'lost' when w.draining then 'draining' when w.disk_full then 'disk_full' else 'ready' end as state
    from workers w cross join lateral (
      select count(*)::int as slots_busy, coalesce(jsonb_agg(
        jsonb_build_object('run_id', r.run_id, 'title', r.title, 'state', r.state) order by r.run_id)
        filter (where ${visibleTo(actor)}), '[]') as runs
      from runs r where r.worker_id = w.worker_id) h
    where not w.stopped and (not w.lost or h.slots_busy > 0
        or coalesce(w.seen_at, w.started_at) > clock_timestamp() - interval '1 hour')
      and ${isOpenPool(sql`w.pool`, actor)} ${pool === undefined ? sql`` : sql`and w.pool = ${pool}::text`}
    order by w.lost, w.pool collate "C", w.started_at, w.worker_id limit ${limit + 1}::int`.execute(db)
  return rows
}

/** Lost workers of a day ago that no run and no sandbox names: only their rows are left. */
export async function removeOldWorkers(db: Db): Promise<void> {
  await sql`
    delete from workers w where w.lost and w.started_at < clock_timestamp() - interval '1 day'
      and not exists (select 1 from runs r where r.worker_id = w.worker_id)
      and not exists (select 1 from sandboxes s where s.worker_id = w.worker_id)`.execute(db)
}

/** What the sessions of a worker are called. */
export const sessionName = (worker_id: string): string => `${SESSION_PREFIX}${worker_id}`
const SESSION_PREFIX = 'runyard-worker '

/**
 * Ends the database sessions of lost workers whose runs could not be taken back: they hold the rows, in the middle of a
 * statement or a transaction that nobody will end, or that would end too late. Whoever swept skipped those rows; the next
 * sweep takes them. A role may end sessions of its own. How many were ended.
 */
export async function endLostSessions(db: Db): Promise<number> {
  const stuck = await sql<{ name: string }>`
    select distinct ${SESSION_PREFIX} || r.worker_id as name
    from runs r join workers w using (worker_id) where w.lost`.execute(db)
  if (stuck.rows.length === 0) return 0
  const names = stuck.rows.map((row) => row.name)
  const ended = await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = any(${names}::text[]) and usename = current_user and datname = current_database()
      and pid <> pg_backend_pid()`.execute(db)
  return ended.rows.length
}
