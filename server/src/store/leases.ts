/**
 * Who may act on a run. The run row is the job: there is no second queue that could disagree with it.
 *
 * - A *worker* has the lease, not a run: one `beat` row for all it holds. `worker_id` is new for each process start.
 * - *Ownership is apart from state*: `runs.worker_id` stays set until the worker releases the run (its processes are
 *   stopped) or is declared lost; a claim needs `state = 'QUEUED' and worker_id is null` (or `debug = 'waiting'`,
 *   see `debug-turns.ts`). So after a cancel and a follow-up, attempt 2 never starts beside a dying attempt 1.
 * - *Fencing*: every write of a worker names run, attempt and worker (`held` below), and states change only from the
 *   expected one. Zero rows: the lease is lost, and the worker stops at once.
 * - *No clocks*: a sweeper judges a worker by not seeing its beat change in its own successful reads.
 */
import { type RawBuilder, sql } from 'kysely'
import type { RunState } from '../contract/state.ts'
import type { Db } from './db.ts'
import { telling } from './hint.ts'
import { AT_WORK, now } from './sql-fragments.ts'

export interface Lease {
  run_id: string
  attempt: number
  worker_id: string
}

/** The fence: the condition every write of a worker carries. */
export const held = (lease: Lease): RawBuilder<boolean> =>
  sql<boolean>`run_id = ${lease.run_id} and attempt = ${lease.attempt} and worker_id = ${lease.worker_id}`

/** How long the environment of a run keeps what failed; null: not at all. */
export const retention = (alias: string): RawBuilder<unknown> =>
  sql`(select nullif((e.config->>'failure_session_retention_minutes')::double precision, 0) * interval '1 minute'
    from environments e where e.uid = ${sql.ref(`${alias}.environment_id`)})`

/** How long the sandbox of an ended run is kept for follow-ups. */
export const idleTime = (alias: string): RawBuilder<unknown> =>
  sql`greatest(
    coalesce((${sql.ref(`${alias}.config`)}->>'idle_timeout_minutes')::double precision, 10) * interval '1 minute',
    case when ${sql.ref(`${alias}.state`)} in ('FAILED', 'ERROR') then ${retention(alias)} end)`

/** One statement however many runs the worker holds. False: it was declared lost and must stop everything. */
export async function beat(db: Db, worker_id: string): Promise<boolean> {
  const kept = await sql`
    update workers set beat = beat + 1, seen_at = ${now} where worker_id = ${worker_id} and not lost returning 1`.execute(
    db,
  )
  return kept.rows.length > 0
}

/** Whether a run of the pool waits for a worker. */
export const runsWait = (pool: string): RawBuilder<boolean> => sql`
  exists (select from runs where (state = 'QUEUED' or debug = 'waiting') and worker_id is null and pool = ${pool})`

/**
 * At most `n` runs, now CLAIMED by this worker; none when it is lost. The rules stand beside the SQL function, which locks rows
 * and so costs a commit: it is called only where a run waits.
 */
export async function claimRuns(
  db: Db,
  worker: { worker_id: string; pool: string },
  n: number,
): Promise<Lease[]> {
  const claimed = await sql<{ run_id: string; attempt: number }>`
    select claimed_run as run_id, claimed_attempt as attempt
    from claim(${worker.pool}, ${worker.worker_id}, ${n}::int)
    where ${runsWait(worker.pool)}`.execute(db)
  return claimed.rows.map((row) => ({ ...row, worker_id: worker.worker_id }))
}

/** What callers want of the runs a worker holds. */
export interface Command {
  run_id: string
  attempt: number
  state: RunState
  /** In a debug turn. */
  is_debugged: boolean
  undelivered: number
  /** Up to where the log is to be stopped. */
  interrupt_sequence: number | null
}

export async function isHeld(db: Db, lease: Lease): Promise<boolean> {
  const found = await sql`select 1 from runs where ${held(lease)}`.execute(db)
  return found.rows.length > 0
}

/** Whether a worker holds a run. */
export const holdsRuns = (worker_id: string): RawBuilder<boolean> =>
  sql`exists (select from runs where worker_id = ${worker_id})`

export async function readCommands(db: Db, worker_id: string): Promise<Command[]> {
  const found = await sql<Command>`
    select run_id, attempt, state, debug is not distinct from 'working' as is_debugged, undelivered, interrupt_sequence from runs where worker_id = ${worker_id}`.execute(
    db,
  )
  return found.rows
}

/**
 * The turn that an interrupt was aimed at is stopped: says so in the log, before any message that came after it. `sequence`
 * names the interrupt, so one that is said again because the answer was not heard is stored once. False: the lease is lost.
 */
export async function acknowledgeInterrupt(db: Db, lease: Lease, sequence: number): Promise<boolean> {
  const changed = await sql`
    with changed as (
      update runs set interrupt_sequence = null, last_sequence = last_sequence + 1
      where ${held(lease)} and ${AT_WORK} and interrupt_sequence = ${sequence}::int returning *),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'interrupted', jsonb_build_object('attempt', attempt) from changed)
    select 1 from changed`.execute(db)
  if (changed.rows.length > 0) return true
  const done = await sql`
    select 1 from runs where ${held(lease)} and ${AT_WORK} and exists (
      select 1 from events e where e.run_id = ${lease.run_id} and e.sequence > ${sequence}::int and e.type = 'interrupted')`.execute(
    db,
  )
  return done.rows.length > 0
}

/**
 * Gives the run up after its processes are stopped; its sandbox is kept for the idle time, from now on, and so is the
 * window for debug turns; its open messages are void.
 * `claimable_in`: its pool when it was queued again meanwhile. A run still at work is left alone (`released: false`):
 * without its worker nobody would ever take it back.
 */
export async function releaseRun(
  db: Db,
  lease: Lease,
  hint: string | null = null,
): Promise<{ released: boolean; claimable_in: string | null }> {
  const released = await sql<{ is_claimable: boolean; pool: string }>`
    with released as (
      update runs r set worker_id = null, updated_at = next_update(updated_at),
        debug_until = case when debug_until is not null then clock_timestamp() + ${retention('r')} end
      where ${held(lease)} and not ${AT_WORK}
      returning run_id, state, debug, pool, config, environment_id, execution, attempt),
    noted as (
      insert into run_releases (run_id, execution, attempt) select run_id, execution, attempt from released),
    kept as (
      update sandboxes s set idle_until = clock_timestamp() + ${idleTime('r')}
      from released r where s.run_id = r.run_id and s.attempt = ${lease.attempt}),
    voided as (delete from open_messages m using released r where m.run_id = r.run_id)
    select state = 'QUEUED' or debug is not null as is_claimable, pool${telling(hint)} from released`.execute(
    db,
  )
  const row = released.rows[0]
  return { released: row !== undefined, claimable_in: row?.is_claimable ? row.pool : null }
}

/** Declares a worker lost if it still shows the beat the sweeper has watched. */
export async function loseWorker(db: Db, worker_id: string, seen: number): Promise<boolean> {
  const changed = await sql`
    update workers set lost = true where worker_id = ${worker_id} and beat = ${seen} and not lost returning 1`.execute(
    db,
  )
  return changed.rows.length > 0
}
