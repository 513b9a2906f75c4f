/**
 * Debug turns: a run that failed in the setup of its environment is asked in the sandbox that this left, while `runs.state` stays
 * FAILED and nobody is told of a change. The row is the job here too: `runs.debug` says whether such a turn waits for a worker or
 * is worked at, `runs.debug_until` until when one may begin. The fence is that of every attempt.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'
import { telling } from './hint.ts'
import { held, type Lease, retention } from './leases.ts'
import { asJson } from './storable.ts'

/** How the execution of a run leaves its sandbox: to be asked in, or gone. */
export type SessionEnd = 'kept' | 'gone'

/** How a debug turn ended; of the run it changes nothing. */
export interface DebugEnding {
  state: 'SUCCEEDED' | 'FAILED' | 'ERROR' | 'BLOCKED'
  status_message?: unknown
  session?: SessionEnd | undefined
}

/** A worker is alive that can reach the sandbox of the run `r`. */
const IS_IN_REACH = sql<boolean>`exists (
  select from sandboxes s join workers w on w.place = s.place where s.run_id = r.run_id and w.pool = r.pool
    and not (w.lost or w.draining))`

/** A follow-up to the run `r` is for a debug turn: one is due, or the window is open, the environment still keeps it, and the sandbox is in reach. */
export const IS_DEBUGGABLE = sql<boolean>`(r.debug is not null
  or coalesce(r.debug_until > clock_timestamp(), false) and ${retention('r')} is not null and ${IS_IN_REACH})`

/** `debug_until` of a run `c` that ends with this attempt: null where the environment keeps nothing, or there is no sandbox. */
export const openWindow = ({ attempt }: Lease): RawBuilder<unknown> =>
  sql`case when exists (select from sandboxes s where s.run_id = c.run_id and s.attempt = ${attempt}::int)
    then clock_timestamp() + ${retention('c')} end`

/** The next worker at the sandbox's place takes a turn in it. */
export async function askForDebugTurn(trx: Db, run_id: string): Promise<void> {
  await sql`update runs set debug = coalesce(debug, 'waiting') where run_id = ${run_id}`.execute(trx)
}

interface DebugEnd {
  /** Chooses the rows: what follows `from runs r`. */
  which: RawBuilder<unknown>
  ending: DebugEnding
  /** The worker is gone, or gives the run up with the turn. */
  releases: boolean
  skip_locked?: boolean
  /** The payload of a NOTIFY that the commit sends. */
  hint?: string | null
}

/** Ends debug turns, each with the event that says so. What they took counts for the run's budget. */
async function endTurns(db: Db, { which, ending, releases, skip_locked, hint = null }: DebugEnd) {
  const { state, status_message, session } = ending
  const ended = await sql<{ run_id: string; pool: string }>`
    with before as materialized (
      select r.run_id as id from runs r ${which} and r.debug is not null order by r.run_id
      for update of r ${skip_locked ? sql`skip locked` : sql``}),
    changed as (
      update runs c set debug = null, interrupt_sequence = null, lost_attempts = 0,
        debug_until = ${session === 'gone' ? sql`null::timestamptz` : sql`clock_timestamp() + ${retention('c')}`},
        run_time_ms = c.run_time_ms + coalesce(
          greatest(0, extract(epoch from clock_timestamp() - c.claimed_at) * 1000)::bigint, 0),
        claimed_at = null, updated_at = next_update(c.updated_at), last_sequence = c.last_sequence + 1
        ${releases ? sql`, worker_id = null` : sql``}
      from before where c.run_id = id returning c.*),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'debug.ended', jsonb_strip_nulls(jsonb_build_object('attempt', attempt,
        'outcome', ${state}::text, 'status_message', ${asJson(status_message)},
        'undelivered', nullif(undelivered, 0))) from changed),
    kept as (
      update sandboxes s set idle_until = greatest(s.idle_until, c.debug_until) from changed c where s.run_id = c.run_id)
    ${releases ? sql`, voided as (delete from open_messages m using changed c where m.run_id = c.run_id)` : sql``}
    select run_id, pool${telling(hint)} from changed`.execute(db)
  return ended.rows
}

/** As `finishRun`: nothing is ended while a message waits. `null`: this attempt is no debug turn. */
export async function finishDebugTurn(
  db: Db,
  lease: Lease,
  ending: DebugEnding,
  hint: string | null,
): Promise<'finished' | 'undelivered' | null> {
  const which = sql`where ${held(lease)} and r.debug = 'working' and r.undelivered = 0`
  if ((await endTurns(db, { which, ending, releases: false, hint })).length > 0) return 'finished'
  const found = await sql<{ is_working: boolean; undelivered: number; is_over: boolean }>`
    select debug is not distinct from 'working' as is_working, undelivered, exists (select from events e
      where e.run_id = runs.run_id and e.type = 'debug.ended' and (e.data->>'attempt')::int = attempt) as is_over
    from runs where ${held(lease)}`.execute(db)
  const run = found.rows[0]
  if (run?.is_over) return 'finished'
  return run?.is_working && run.undelivered > 0 ? 'undelivered' : null
}

const given = (message: string): DebugEnding => ({
  state: 'ERROR',
  status_message: { message, retryable: true },
})

/** Gives up a debug turn whose processes are stopped: no other worker has its sandbox. False: there is none. */
export async function handBackDebugTurn(db: Db, lease: Lease, reason: string): Promise<boolean> {
  const which = sql`where ${held(lease)} and r.debug = 'working'`
  return (await endTurns(db, { which, ending: given(reason), releases: true })).length > 0
}

/**
 * Ends the debug turns of lost workers (chosen by `lost`), and those that wait for a sandbox that is gone, for a worker at its
 * place which has not come within a minute, or for somebody who may execute nothing any more. Their messages wait for the next turn, of whatever kind.
 */
export async function endLostDebugTurns(db: Db, lost: RawBuilder<unknown>, run_id?: string) {
  const one = run_id ? sql`and r.run_id = ${run_id}` : sql``
  const ends = [
    {
      which: sql`${lost} ${one} and r.debug = 'working'`,
      ending: given('The worker stopped answering, and the debug turn ended with it.'),
    },
    {
      which: sql`where ${IS_STRANDED} ${one}`,
      ending: given('No worker reaches the sandbox any more, so the debug turn did not begin.'),
    },
  ]
  const ended = []
  for (const end of ends) ended.push(...(await endTurns(db, { ...end, releases: true, skip_locked: true })))
  return ended
}

/** Of the run `r`: a restarted service has its worker back at the same place within that minute. */
export const IS_STRANDED = sql<boolean>`(r.debug = 'waiting' and r.worker_id is null and not (
  exists (select from sandboxes s where s.run_id = r.run_id) and (
    r.updated_at > clock_timestamp() - interval '1 minute' or ${IS_IN_REACH})
  and not exists (select from principals p where p.principal_id = r.principal_id and p.disabled)))`
