/**
 * Who may act on a run. The run row is the job: there is no second queue that could disagree with it.
 *
 * - A *worker* has the lease, not a run: one `beat` row for all it holds. `worker_id` is new for each process start.
 * - *Ownership is apart from state*: `runs.worker_id` stays set until the worker releases the run (its processes are
 *   stopped) or is declared lost; a claim needs `state = 'QUEUED' and worker_id is null`. So after a cancel and a
 *   follow-up, attempt 2 never starts beside a dying attempt 1.
 * - *Fencing*: every write of a worker names run, attempt and worker (`held` below), and states change only from the
 *   expected one. Zero rows: the lease is lost, and the worker stops at once.
 * - *No clocks*: a sweeper judges a worker by not seeing its beat change in its own successful reads.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Model } from '../contract/model.ts'
import type { RunStatusMessage } from '../contract/state.ts'
import type { Db } from './db.ts'
import { json } from './storable.ts'

export interface Lease {
  run_id: string
  attempt: number
  worker_id: string
}

export interface WorkerRegistration {
  worker_id: string
  pool: string
  host_id: string
  /** Runs it executes at once. */
  slots: number
  /** Name of its sandbox backend. */
  sandbox: string
  models: { models: Model[]; default_model_id?: string }
}

/** After this many losses in a row without a finished step, a run is taken to kill its workers. */
export const MAX_LOST_ATTEMPTS = 5

const POISONED: RunStatusMessage = {
  message: `The run was given up after ${MAX_LOST_ATTEMPTS} attempts in a row were lost while executing it.`,
  error_code: 'resource_unavailable',
  retryable: true,
}

/** The fence: the condition every write of a worker carries. */
export const held = (lease: Lease): RawBuilder<boolean> =>
  sql<boolean>`run_id = ${lease.run_id} and attempt = ${lease.attempt} and worker_id = ${lease.worker_id}`

/** Milliseconds that the current execution has taken, to be added where it ends. */
export const elapsed = sql`run_time_ms + coalesce(
  greatest(0, extract(epoch from clock_timestamp() - claimed_at) * 1000)::int, 0)`

/** How long the sandbox of an ended run is kept for follow-ups. */
export const idleTime = (alias: string): RawBuilder<unknown> =>
  sql`coalesce((${sql.ref(`${alias}.config`)}->>'idle_timeout_minutes')::double precision, 10) * interval '1 minute'`

export async function registerWorker(db: Db, worker: WorkerRegistration): Promise<void> {
  await sql`
    insert into workers (worker_id, pool, host_id, slots, sandbox, models)
    values (${worker.worker_id}, ${worker.pool}, ${worker.host_id}, ${worker.slots}, ${worker.sandbox},
      ${json(worker.models)})`.execute(db)
}

export async function updateModels(
  db: Db,
  worker_id: string,
  models: WorkerRegistration['models'],
): Promise<void> {
  await sql`update workers set models = ${json(models)} where worker_id = ${worker_id}`.execute(db)
}

/** One statement however many runs the worker holds. False: it was declared lost and must stop everything. */
export async function beat(db: Db, worker_id: string): Promise<boolean> {
  const kept = await sql`
    update workers set beat = beat + 1 where worker_id = ${worker_id} and not lost returning 1`.execute(db)
  return kept.rows.length > 0
}

/** At most `n` runs, now CLAIMED by this worker; none when it is lost. The rules stand beside the SQL function. */
export async function claimRuns(
  db: Db,
  worker: { worker_id: string; pool: string },
  n: number,
): Promise<Lease[]> {
  const claimed = await sql<{ run_id: string; attempt: number }>`
    select claimed_run as run_id, claimed_attempt as attempt
    from claim(${worker.pool}, ${worker.worker_id}, ${n}::int)`.execute(db)
  return claimed.rows.map((row) => ({ ...row, worker_id: worker.worker_id }))
}

/** What callers want of the runs a worker holds. */
export interface Command {
  run_id: string
  attempt: number
  state: string
  undelivered: number
  interrupt_attempt: number | null
}

export async function readCommands(db: Db, worker_id: string): Promise<Command[]> {
  const found = await sql<Command>`
    select run_id, attempt, state, undelivered, interrupt_attempt from runs where worker_id = ${worker_id}`.execute(
    db,
  )
  return found.rows
}

/** CLAIMED → INPROGRESS. `config` is what the worker resolved. False: the lease is lost or the run was cancelled. */
export async function startRun(
  db: Db,
  lease: Lease,
  config: { harness: string; model_id?: string },
): Promise<boolean> {
  const changed = await sql`
    with changed as (
      update runs set state = 'INPROGRESS', started_at = coalesce(started_at, date_trunc('milliseconds', clock_timestamp())),
        config = config || jsonb_build_object('harness',
          coalesce(config->'harness', '{}') || jsonb_build_object('type', ${config.harness}::text)),
        updated_at = next_update(updated_at), last_sequence = last_sequence + 1
      where ${held(lease)} and state = 'CLAIMED' returning *),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'run.state', jsonb_build_object('state', state, 'previous_state', 'CLAIMED',
        'execution', execution, 'attempt', attempt) from changed)
    select 1 from changed`.execute(db)
  if (changed.rows.length > 0) return true
  // Said again because the answer was not heard: it is done.
  const started = await sql`select 1 from runs where ${held(lease)} and state = 'INPROGRESS'`.execute(db)
  return started.rows.length > 0
}

export interface Ending {
  state: 'SUCCEEDED' | 'FAILED' | 'ERROR' | 'BLOCKED'
  status_message?: RunStatusMessage
  result?: unknown
}

/**
 * Ends the execution: its state and the event that says so in one statement, everything before being committed already,
 * so a caller who sees SUCCEEDED can read the whole answer. The worker still owns the run until it releases it.
 * `undelivered`: a follow-up was accepted meanwhile; deliver it and go on. The counter stands on the row because a
 * `not exists` over the follow-ups was seen to miss one that was just being committed.
 */
export async function finishRun(
  db: Db,
  lease: Lease,
  ending: Ending,
): Promise<'finished' | 'undelivered' | 'lost'> {
  const status = ending.status_message ? json(ending.status_message) : sql`null::jsonb`
  const result = ending.result === undefined ? sql`null::jsonb` : json(ending.result)
  const changed = await sql`
    with before as (select run_id as id, state as previous_state from runs where ${held(lease)} for update),
    changed as (
      update runs set state = ${ending.state}, status_message = ${status}, result = coalesce(${result}, result),
        finished_at = case when ${ending.state} = 'BLOCKED' then null else date_trunc('milliseconds', clock_timestamp()) end,
        run_time_ms = ${elapsed}, claimed_at = null, interrupt_attempt = null, lost_attempts = 0,
        updated_at = next_update(updated_at), last_sequence = last_sequence + 1
      from before
      where ${held(lease)} and state in ('CLAIMED', 'INPROGRESS') and undelivered = 0
      returning run_id, last_sequence, state, execution, attempt, status_message, previous_state),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'run.state', jsonb_strip_nulls(jsonb_build_object('state', state,
        'previous_state', previous_state, 'execution', execution, 'attempt', attempt,
        'status_message', status_message)) from changed)
    select 1 from changed`.execute(db)
  if (changed.rows.length > 0) return 'finished'
  const kept = await sql<{ state: string; undelivered: number }>`
    select state, undelivered from runs where ${held(lease)}`.execute(db)
  const run = kept.rows[0]
  if (run?.state === ending.state) return 'finished'
  const working = run?.state === 'CLAIMED' || run?.state === 'INPROGRESS'
  return working && run.undelivered > 0 ? 'undelivered' : 'lost'
}

/** Acknowledges an interrupt with its event; false when there is none any more. */
export async function acknowledgeInterrupt(db: Db, lease: Lease): Promise<boolean> {
  const changed = await sql`
    with changed as (
      update runs set interrupt_attempt = null, last_sequence = last_sequence + 1
      where ${held(lease)} and state in ('CLAIMED', 'INPROGRESS') and interrupt_attempt = attempt returning *),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'interrupted', jsonb_build_object('attempt', attempt) from changed)
    select 1 from changed`.execute(db)
  return changed.rows.length > 0
}

/**
 * Gives the run up after its processes are stopped; its sandbox is kept for the idle time, its open messages are void.
 * `claimable_in`: its pool when it was queued again meanwhile. A run still at work is left alone (`released: false`):
 * without its worker nobody would ever take it back.
 */
export async function releaseRun(
  db: Db,
  lease: Lease,
): Promise<{ released: boolean; claimable_in: string | null }> {
  const released = await sql<{ state: string; pool: string }>`
    with released as (
      update runs set worker_id = null, updated_at = next_update(updated_at)
      where ${held(lease)} and state not in ('CLAIMED', 'INPROGRESS') returning run_id, state, pool, config),
    kept as (
      update sandboxes s set idle_until = clock_timestamp() + ${idleTime('r')}
      from released r where s.run_id = r.run_id and s.attempt = ${lease.attempt}),
    voided as (delete from open_messages m using released r where m.run_id = r.run_id)
    select state, pool from released`.execute(db)
  const row = released.rows[0]
  return { released: row !== undefined, claimable_in: row?.state === 'QUEUED' ? row.pool : null }
}

/**
 * Hands a run back unfinished, its processes stopped. `counted` says that it was the run's failure, not the worker's
 * stop: MAX_LOST_ATTEMPTS of those in a row end it.
 */
export async function requeueRun(db: Db, lease: Lease, reason: string, counted: boolean): Promise<boolean> {
  const poisoned = sql`${counted}::boolean and lost_attempts + 1 >= ${MAX_LOST_ATTEMPTS}`
  const changed = await sql`
    with before as (select run_id as id, state as previous_state from runs where ${held(lease)} for update),
    changed as (
      update runs set state = case when ${poisoned} then 'ERROR' else 'QUEUED' end,
        status_message = case when ${poisoned} then ${json(POISONED)} else status_message end,
        finished_at = case when ${poisoned} then date_trunc('milliseconds', clock_timestamp()) else finished_at end,
        lost_attempts = lost_attempts + ${counted ? 1 : 0},
        worker_id = null, run_time_ms = ${elapsed}, claimed_at = null, interrupt_attempt = null,
        updated_at = next_update(updated_at), last_sequence = last_sequence + 1
      from before
      where ${held(lease)} and state in ('CLAIMED', 'INPROGRESS')
      returning run_id, last_sequence, state, execution, attempt, previous_state, status_message),
    voided as (delete from open_messages m using changed c where m.run_id = c.run_id)
    insert into events (run_id, sequence, type, data)
    select run_id, last_sequence, 'run.state', jsonb_build_object('state', state, 'previous_state', previous_state,
      'execution', execution, 'attempt', attempt, 'status_message', case when state = 'ERROR' then status_message
        else jsonb_build_object('message', ${reason}::text) end)
    from changed returning 1`.execute(db)
  return changed.rows.length > 0
}

/** The worker has stopped in order and holds nothing. */
export async function retireWorker(db: Db, worker_id: string): Promise<void> {
  await sql`update workers set lost = true where worker_id = ${worker_id}`.execute(db)
}

export async function readBeats(db: Db): Promise<Array<{ worker_id: string; beat: number }>> {
  const found = await sql<{ worker_id: string; beat: number }>`
    select worker_id, beat from workers where not lost`.execute(db)
  return found.rows
}

/** Declares a worker lost if it still shows the beat the sweeper has watched. */
export async function loseWorker(db: Db, worker_id: string, seen: number): Promise<boolean> {
  const changed = await sql`
    update workers set lost = true where worker_id = ${worker_id} and beat = ${seen} and not lost returning 1`.execute(
    db,
  )
  return changed.rows.length > 0
}

/** Embedded: the data directory's lock proves that no other process lives, so every older worker is gone. */
export async function loseAllWorkers(db: Db): Promise<void> {
  await sql`update workers set lost = true where not lost`.execute(db)
}

/**
 * Takes every run of lost workers back. Working ones are queued again (`attempt.lost`, then QUEUED) or, after
 * MAX_LOST_ATTEMPTS in a row, ended; the others are only released. Their open messages are void.
 * Returns the runs that changed.
 */
export async function requeueLost(db: Db): Promise<Array<{ run_id: string; pool: string }>> {
  const changed = await sql<{ run_id: string; pool: string }>`
    with orphaned as (
      select r.run_id as id, r.state as previous_state from runs r join workers w using (worker_id)
      where w.lost order by r.run_id for update of r skip locked),
    judged as (
      select id, previous_state, previous_state in ('CLAIMED', 'INPROGRESS') as working from orphaned),
    changed as (
      update runs set worker_id = null,
        state = case when not working then state when lost_attempts + 1 >= ${MAX_LOST_ATTEMPTS} then 'ERROR' else 'QUEUED' end,
        status_message = case when working and lost_attempts + 1 >= ${MAX_LOST_ATTEMPTS}
          then ${json(POISONED)} else status_message end,
        finished_at = case when working and lost_attempts + 1 >= ${MAX_LOST_ATTEMPTS}
          then date_trunc('milliseconds', clock_timestamp()) else finished_at end,
        run_time_ms = case when working then ${elapsed} else run_time_ms end,
        claimed_at = null, interrupt_attempt = null,
        lost_attempts = lost_attempts + case when working then 1 else 0 end,
        last_sequence = last_sequence + case when working then 2 else 0 end,
        updated_at = next_update(updated_at)
      from judged where run_id = id
      returning run_id, pool, attempt, execution, state, status_message, last_sequence, previous_state, working),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence - 1, 'attempt.lost', jsonb_build_object('attempt', attempt, 'reason',
        'The worker stopped answering.') from changed where working
      union all
      select run_id, last_sequence, 'run.state', jsonb_strip_nulls(jsonb_build_object('state', state,
        'previous_state', previous_state, 'execution', execution, 'attempt', attempt,
        'status_message', case when state = 'ERROR' then status_message end)) from changed where working),
    voided as (delete from open_messages m using changed c where m.run_id = c.run_id)
    select run_id, pool from changed`.execute(db)
  return changed.rows
}
