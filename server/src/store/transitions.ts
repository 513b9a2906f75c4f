/**
 * The one place that changes a run's state; only the claim stands elsewhere, in `claim.sql`. Each change is one statement:
 * the row with its times, the `run.state` event, and whatever else must come about with it or not at all.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { ResolvedRun } from '../contract/run.ts'
import {
  CANCELLABLE_STATES,
  RESTING_STATES,
  type RunState,
  type RunStatusMessage,
  TERMINAL_STATES,
  UNFINISHED_STATES,
  WORKING_STATES,
} from '../contract/state.ts'
import type { Db } from './db.ts'
import {
  askForDebugTurn,
  endLostDebugTurns,
  finishDebugTurn,
  handBackDebugTurn,
  IS_STRANDED,
  openWindow,
  type SessionEnd,
} from './debug-turns.ts'
import { isUnavailable } from './faults.ts'
import { telling } from './hint.ts'
import { held, type Lease } from './leases.ts'
import { changeOrRefuse, refusalOfEnded, visibleTo } from './runs.ts'
import { insertSandbox, type NewSandbox } from './sandboxes.ts'
import { AT_WORK, among, now } from './sql-fragments.ts'
import { asJson, json } from './storable.ts'
import { insertTurnEnd, type WorkspaceEnd } from './turn-ends.ts'
import { outboxOfChanged } from './webhook-outbox.ts'

/** After this many losses in a row without a finished step, a run is taken to kill its workers. */
export const MAX_LOST_ATTEMPTS = 5

const POISONED: RunStatusMessage = {
  message: `The run was given up after ${MAX_LOST_ATTEMPTS} attempts in a row were lost while executing it.`,
  error_code: 'resource_unavailable',
  retryable: true,
}

const ON_REQUEST: RunStatusMessage = { message: 'Cancelled on request.' }

interface Change {
  /** Chooses the rows: what follows `from runs r`. */
  which: RawBuilder<unknown>
  from: readonly RunState[]
  /** The next state, told from `r`. */
  to: RawBuilder<string>
  /** Of the row, told from the row `c` and its `next_state`; left out it is none. */
  status_message?: RawBuilder<unknown>
  /** Of the event, where it differs; told from the changed row `c`. */
  said?: RawBuilder<unknown>
  /** Until when the sandbox of its failed setup can be asked; left out there is none. */
  debug_until?: RawBuilder<unknown>
  /** More columns: `, name = value …`. */
  set?: RawBuilder<unknown>
  /** An event before `run.state`, its data told from the changed row `c`. */
  first?: { type: string; data: RawBuilder<unknown> }
  /** More that belongs to it: `, name as (…)`, told from `changed`. */
  also?: RawBuilder<unknown>
  skip_locked?: boolean
  /** The payload of a NOTIFY that the commit sends. */
  hint?: string | null
}

interface Changed {
  run_id: string
  pool: string
}

/** Zero rows: there was none in one of the expected states. */
async function change(db: Db, to: Change): Promise<Changed[]> {
  const done = await sql<Changed>`
    with before as materialized (
      select r.run_id as id, r.state as previous_state, ${to.to} as next_state from runs r ${to.which}
        and r.state in (${among(to.from)})
      order by r.run_id for update of r ${to.skip_locked ? sql`skip locked` : sql``}),
    changed as (
      update runs c set state = next_state,
        status_message = ${to.status_message ?? sql`null`},
        debug_until = ${to.debug_until ?? sql`null::timestamptz`},
        started_at = case when next_state = 'INPROGRESS' then coalesce(c.started_at, ${now}) else c.started_at end,
        finished_at = case when next_state in (${among(TERMINAL_STATES)}) then ${now} end,
        -- What the execution took, where it ends; a run that nobody had claimed took none.
        run_time_ms = case when next_state in (${among(WORKING_STATES)}) then c.run_time_ms else c.run_time_ms + coalesce(
          greatest(0, extract(epoch from clock_timestamp() - c.claimed_at) * 1000)::bigint, 0) end,
        claimed_at = case when next_state in (${among(WORKING_STATES)}) then c.claimed_at end,
        -- Whoever executes the run next still has to stop; a run that rests has stopped.
        interrupt_sequence = case when next_state not in (${among(RESTING_STATES)}) then c.interrupt_sequence end,
        updated_at = next_update(c.updated_at),
        last_sequence = c.last_sequence + ${sql.lit(to.first ? 2 : 1)}
        ${to.set ?? sql``}
      -- Locked by now, so the state is not asked again: of a row that changed meanwhile, c would tell the old one.
      from before where c.run_id = id
      returning c.run_id, c.pool, c.worker_id, c.attempt, c.execution, c.state, c.status_message, c.last_sequence, previous_state,
        c.scope, c.principal_id, c.creator_id),
    logged as (
      insert into events (run_id, sequence, type, data)
      ${
        to.first
          ? sql`select c.run_id, c.last_sequence - 1, ${to.first.type}::text, ${to.first.data} from changed c union all`
          : sql``
      }
      select c.run_id, c.last_sequence, 'run.state', jsonb_strip_nulls(jsonb_build_object('state', c.state,
        'previous_state', c.previous_state, 'execution', c.execution, 'attempt', c.attempt,
        'status_message', ${to.said ?? sql`c.status_message`})) from changed c)
    -- Processes hear of it by the Watch.
    , ${outboxOfChanged}
    ${to.also ?? sql``}
    select run_id, pool${telling(to.hint ?? null)} from changed`.execute(db)
  return done.rows
}

const voided = sql`, voided as (delete from open_messages m using changed c where m.run_id = c.run_id)`

/**
 * CLAIMED → INPROGRESS. Also records the attempt's `sandbox`, if it has no row yet. False: the lease is lost or the run was
 * cancelled.
 */
export async function startRun(
  db: Db,
  lease: Lease,
  resolved: ResolvedRun,
  { sandbox, hint = null }: { sandbox?: NewSandbox | undefined; hint?: string | null } = {},
): Promise<boolean> {
  const changed = await change(db, {
    hint,
    ...(sandbox ? { also: sql`, used as (${insertSandbox(sandbox, sql`changed`)})` } : {}),
    which: sql`where ${held(lease)}`,
    from: ['CLAIMED'],
    to: sql`'INPROGRESS'`,
    // Lists are filtered by the model that is used, whoever chose it.
    set: sql`, resolved = ${json(resolved)}, model_id = coalesce(${resolved.model_id ?? null}::text, c.model_id)`,
  })
  if (changed.length > 0) return true
  // Said again because the answer was not heard: it is done.
  const started = await sql`select 1 from runs where ${held(lease)} and state = 'INPROGRESS'`.execute(db)
  return started.rows.length > 0
}

export interface Ending {
  state: 'SUCCEEDED' | 'FAILED' | 'ERROR' | 'BLOCKED'
  status_message?: RunStatusMessage
  result?: unknown
  /** `kept`: the setup failed, and what it left can be asked. */
  session?: SessionEnd
}

/**
 * Ends the execution: its state and the event that says so in one statement, everything before being committed already,
 * so a caller who sees SUCCEEDED can read the whole answer. `turn_end`, the state of the workspace, is stored with it. The worker
 * still owns the run until it releases it.
 * `undelivered`: a follow-up was accepted meanwhile; deliver it and go on. The counter stands on the row because a
 * `not exists` over the follow-ups was seen to miss one that was just being committed.
 */
export async function finishRun(
  db: Db,
  lease: Lease,
  ending: Ending,
  { turn_end, hint = null }: { turn_end?: WorkspaceEnd | undefined; hint?: string | null } = {},
): Promise<'finished' | 'undelivered' | 'lost'> {
  const changed = await change(db, {
    hint,
    which: sql`where ${held(lease)} and r.undelivered = 0`,
    // Its place in the log is before the state.
    ...(turn_end
      ? { also: sql`, ended as (${insertTurnEnd(turn_end, sql`r.last_sequence - 1`, sql`changed r`)})` }
      : {}),
    from: WORKING_STATES,
    to: sql`${ending.state}::text`,
    status_message: asJson(ending.status_message),
    ...(ending.session === 'kept' && ending.state === 'FAILED' ? { debug_until: openWindow(lease) } : {}),
    set: sql`, result = coalesce(${asJson(ending.result)}, c.result), lost_attempts = 0`,
  })
  if (changed.length > 0) return 'finished'
  const debugged = await finishDebugTurn(db, lease, ending, hint)
  if (debugged) return debugged
  const kept = await sql<{ state: RunState; working: boolean; undelivered: number }>`
    select state, state in (${among(WORKING_STATES)}) as working, undelivered from runs where ${held(lease)}`.execute(
    db,
  )
  const run = kept.rows[0]
  if (run?.state === ending.state) return 'finished'
  return run?.working && run.undelivered > 0 ? 'undelivered' : 'lost'
}

/** ERROR where this loss is one too many, else QUEUED. */
const afterLoss = sql<string>`case when r.lost_attempts + 1 >= ${MAX_LOST_ATTEMPTS}::int then 'ERROR' else 'QUEUED' end`
const poisonedStatus = sql`case when next_state = 'ERROR' then ${json(POISONED)} else c.status_message end`

/**
 * Hands a run back unfinished, its processes stopped. `counted` says that it was the run's failure, not the worker's
 * stop: MAX_LOST_ATTEMPTS of those in a row end it.
 */
export async function requeueRun(db: Db, lease: Lease, reason: string, counted: boolean): Promise<boolean> {
  const changed = await change(db, {
    which: sql`where ${held(lease)}`,
    from: WORKING_STATES,
    to: counted ? afterLoss : sql`'QUEUED'`,
    status_message: counted ? poisonedStatus : sql`c.status_message`,
    said: sql`case when c.state = 'ERROR' then c.status_message else jsonb_build_object('message', ${reason}::text) end`,
    set: sql`, worker_id = null, lost_attempts = c.lost_attempts + ${counted ? 1 : 0}::int`,
    also: voided,
  })
  return changed.length > 0 || (await handBackDebugTurn(db, lease, reason))
}

const LOST = sql`join workers w on w.worker_id = r.worker_id where w.lost`

/**
 * Takes runs of lost workers back, all of them or this one. Working ones are queued again (`attempt.lost`, then QUEUED) or,
 * after MAX_LOST_ATTEMPTS in a row, ended; the others are only released. Their open messages are void.
 */
async function takeBack(db: Db, run_id?: string): Promise<Changed[]> {
  const which = run_id ? sql`${LOST} and r.run_id = ${run_id}` : LOST
  const requeued = await change(db, {
    which,
    from: WORKING_STATES,
    to: afterLoss,
    status_message: poisonedStatus,
    said: sql`case when c.state = 'ERROR' then c.status_message end`,
    set: sql`, worker_id = null, lost_attempts = c.lost_attempts + 1`,
    first: {
      type: 'attempt.lost',
      data: sql`jsonb_build_object('attempt', c.attempt, 'reason', 'The worker stopped answering.')`,
    },
    also: voided,
    skip_locked: true,
  })
  const debugged = await endLostDebugTurns(db, LOST, run_id)
  const released = await sql<Changed>`
    with orphaned as (
      select r.run_id as id from runs r ${which} and not ${AT_WORK}
      order by r.run_id for update of r skip locked),
    changed as (
      update runs set worker_id = null, updated_at = next_update(updated_at)
      from orphaned where run_id = id returning run_id, pool, execution, attempt),
    noted as (insert into run_releases (run_id, execution, attempt) select run_id, execution, attempt from changed)
    ${voided} select run_id, pool from changed`.execute(db)
  return [...requeued, ...debugged, ...released.rows]
}

/** The heartbeats of the workers that are not lost, and whether a run is to be taken back: one statement, since all processes ask often. */
export async function readLiveness(
  db: Db,
): Promise<{ beats: Array<{ worker_id: string; beat: number }>; has_lost: boolean }> {
  const found = await sql<{ worker_id: string | null; beat: number; has_lost: boolean }>`
    select w.worker_id, w.beat, l.has_lost
    from (select exists (select from runs r ${LOST}) or exists (select from runs r where ${IS_STRANDED}) as has_lost) l
    left join workers w on not w.lost`.execute(db)
  const beats = found.rows.flatMap(({ worker_id, beat }) => (worker_id === null ? [] : [{ worker_id, beat }]))
  return { beats, has_lost: found.rows[0]?.has_lost ?? false }
}

/**
 * Takes every run of lost workers back and returns those that changed. One that cannot be (its row is refused) must not
 * keep the others: then each is taken back by itself, and `onFailure` hears of those that failed.
 */
export async function requeueLost(
  db: Db,
  onFailure: (run_id: string, error: unknown) => void,
): Promise<Changed[]> {
  // Another process may have taken them meanwhile: that takes one statement and no lock.
  const found = await sql<{ run_id: string }>`
    select r.run_id from runs r ${LOST} union select r.run_id from runs r where ${IS_STRANDED} order by run_id`.execute(
    db,
  )
  if (found.rows.length === 0) return []
  try {
    return await takeBack(db)
  } catch (error) {
    if (isUnavailable(error)) throw error
  }
  const changed: Changed[] = []
  for (const { run_id } of found.rows) {
    try {
      changed.push(...(await takeBack(db, run_id)))
    } catch (error) {
      onFailure(run_id, error)
    }
  }
  return changed
}

/**
 * QUEUED, CLAIMED, INPROGRESS or BLOCKED → CANCELLED, with its event, at once, whether or not a worker lives; the worker
 * hears of it and stops its processes. An ended run is refused, an unknown one not found.
 */
export async function cancelRun(db: Db, run_id: string, actor: Actor): Promise<void> {
  const cancelled = async (): Promise<boolean> => {
    const changed = await change(db, {
      which: sql`where r.run_id = ${run_id} and ${visibleTo(actor)}`,
      from: CANCELLABLE_STATES,
      to: sql`'CANCELLED'`,
      status_message: asJson(ON_REQUEST),
    })
    return changed.length > 0
  }
  await changeOrRefuse(db, { run_id, actor, change: cancelled, refusalOf: refusalOfEnded })
}

/** The same of several at once, of those that may be cancelled still. The ids of those that were. */
export async function cancelRuns(db: Db, run_ids: readonly string[], actor: Actor): Promise<string[]> {
  if (run_ids.length === 0) return []
  const changed = await change(db, {
    which: sql`where r.run_id = any(${[...run_ids]}::uuid[]) and ${visibleTo(actor)}`,
    from: CANCELLABLE_STATES,
    to: sql`'CANCELLED'`,
    status_message: asJson(ON_REQUEST),
  })
  return changed.map(({ run_id }) => run_id)
}

/** Cancels what a schedule has begun and not finished, in favour of its next run. The ids of the runs. */
export async function cancelScheduled(trx: Db, schedule_id: string): Promise<string[]> {
  const changed = await change(trx, {
    which: sql`where r.schedule->>'schedule_id' = ${schedule_id} and r.schedule is not null`,
    from: UNFINISHED_STATES,
    to: sql`'CANCELLED'`,
    status_message: asJson({
      message: 'Cancelled by its schedule, whose next run was due.',
    } satisfies RunStatusMessage),
  })
  return changed.map(({ run_id }) => run_id)
}

/**
 * Goes on with a run that rests: in the sandbox of its failed setup where that can be asked, as it is; else QUEUED, for one more
 * execution. False: it did not rest.
 */
export async function goOn(
  trx: Db,
  { run_id, is_debuggable }: { run_id: string; is_debuggable: boolean },
): Promise<boolean> {
  if (is_debuggable) {
    await askForDebugTurn(trx, run_id)
    return true
  }
  const changed = await change(trx, {
    which: sql`where r.run_id = ${run_id}`,
    from: RESTING_STATES,
    to: sql`'QUEUED'`,
    // What goes on is not put away any more.
    set: sql`, execution = c.execution + 1, lost_attempts = 0, archived_at = null`,
  })
  return changed.length > 0
}
