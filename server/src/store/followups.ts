import { type RawBuilder, sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RunEvent } from '../contract/event.ts'
import type { BudgetLimits, FollowupOutcome, OnBusy } from '../contract/run-request.ts'
import { isResting, isWorking, type RunState } from '../contract/state.ts'
import { insertAttachments, type StoredAttachment } from './attachments.ts'
import type { Db } from './db.ts'
import { IS_DEBUGGABLE } from './debug-turns.ts'
import { readLogPages } from './events.ts'
import { requireGrantsFor } from './grants.ts'
import { held, type Lease } from './leases.ts'
import { claimPrepared, type PreparedReference } from './prepared-attachments.ts'
import { orphaned } from './principals.ts'
import { visibleTo } from './runs.ts'
import { AT_WORK } from './sql-fragments.ts'
import { json } from './storable.ts'
import { goOn } from './transitions.ts'

export interface NewFollowup {
  run_id: string
  author: Actor
  message: string
  mode: string
  on_busy: OnBusy
  attachments: StoredAttachment[]
  /** Files that were uploaded before. */
  prepared?: readonly PreparedReference[]
  /** The model from this message on. */
  model_id?: string | null
  /** Limits that replace those of the run. */
  budget?: BudgetLimits | null
}

interface LockedRun {
  run_id: string
  state: RunState
  attempt: number
  worker_id: string | null
  debug: 'waiting' | 'working' | null
  /** It is asked where its setup failed. */
  is_debuggable: boolean
  pool: string
  environment_id: string | null
  scope: 'User' | 'Team'
  principal_id: string
  /** Whoever executes it may not any more. */
  orphaned: boolean
  author: string
}

/**
 * Accepts a message whatever the run is doing: stored, counted and logged, and an ended run queued again, or
 * asked where its setup failed, in the caller's transaction, under the run's row lock. `claimable_in`: the pool to be woken after the commit.
 */
export async function acceptFollowup(
  trx: Db,
  followup: NewFollowup,
): Promise<{ followup_id: string; outcome: FollowupOutcome; claimable_in: string | null }> {
  const locked = await sql<LockedRun>`
    select r.run_id, r.state, r.attempt, r.worker_id, r.debug, ${IS_DEBUGGABLE} as is_debuggable, r.pool, r.environment_id, r.scope, r.principal_id, e.disabled as orphaned,
      p.display_name as author
    from runs r join principals e on e.principal_id = r.principal_id
      join principals p on p.principal_id = ${followup.author.principal_id}
    where r.run_id = ${followup.run_id} and ${visibleTo(followup.author)} for update of r`.execute(trx)
  const run = locked.rows[0]
  if (!run) throw new AppError('resource_not_found', 'There is no run with this id.')
  // Before its grants, which went with it.
  if (run.orphaned) throw orphaned()
  await requireGrantsFor(trx, followup.author, run)
  const outcome = outcomeFor(run)
  if (outcome === 'live_session' && followup.on_busy === 'reject') {
    throw new AppError('conflict', 'The agent is working and on_busy is reject.', { retryable: false })
  }
  const prepared = await claimPrepared(trx, run.run_id, followup.author, followup.prepared ?? [])
  const attachments = [...followup.attachments, ...prepared]
  if (!followup.message.trim() && run.attempt === 0 && attachments.length === 0) {
    throw new AppError('invalid_request', 'message: is required, the run has no saved context to continue.')
  }
  const interrupts = outcome === 'live_session' && followup.on_busy === 'interrupt'
  const followup_id = uuidv7()
  await sql`
    with changed as (
      update runs set undelivered = undelivered + 1, last_sequence = last_sequence + 1,
        -- It stops what the log holds now; the message itself comes after that.
        ${interrupts ? sql`interrupt_sequence = coalesce(interrupt_sequence, last_sequence),` : sql``}
        ${followup.budget ? sql`request = jsonb_set(request, '{budget}', coalesce(request -> 'budget', '{}') || ${json(followup.budget)}),` : sql``}
        updated_at = next_update(updated_at)
      where run_id = ${run.run_id} returning *),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence, 'followup.accepted', jsonb_strip_nulls(jsonb_build_object('followup_id', ${followup_id}::text,
        'message', ${followup.message}::text, 'outcome', ${outcome}::text, 'author', ${run.author}::text,
        'model_id', ${followup.model_id ?? null}::text)) from changed)
    insert into followups (followup_id, run_id, position, message, mode, outcome, author_id)
    select ${followup_id}::uuid, run_id, last_sequence, ${followup.message}, ${followup.mode}, ${outcome}, ${followup.author.principal_id}::uuid
    from changed`.execute(trx)
  await insertAttachments(trx, run.run_id, followup_id, attachments)
  const reopened = isResting(run.state) && (await goOn(trx, run))
  return { followup_id, outcome, claimable_in: reopened && run.worker_id === null ? run.pool : null }
}

function outcomeFor(run: LockedRun): FollowupOutcome {
  if (run.state === 'QUEUED') return run.attempt === 0 ? 'queued_prompt' : 'queue_pending'
  if (isWorking(run.state) || run.debug === 'working') return 'live_session'
  if (run.is_debuggable) return 'queue_pending'
  // Ended, but its worker still stops processes: claimable as soon as it lets go.
  return run.worker_id === null ? 'handoff_execution' : 'queue_pending'
}

export type Delivery =
  | { messages: Array<Extract<RunEvent, { type: 'message.user' }>> }
  /** An interrupt waits; its number is what `acknowledgeInterrupt` takes. */
  | { interrupt: number }
  | 'lost'

async function readWaiting(
  db: Db,
  lease: Lease,
  lock: RawBuilder<unknown>,
): Promise<{ undelivered: number; last_sequence: number } | { interrupt: number } | 'lost'> {
  const found = await sql<{ undelivered: number; last_sequence: number; interrupt_sequence: number | null }>`
    select undelivered, last_sequence, interrupt_sequence from runs
    where ${held(lease)} and ${AT_WORK} ${lock}`.execute(db)
  const run = found.rows[0]
  if (!run) return 'lost'
  return run.interrupt_sequence === null ? run : { interrupt: run.interrupt_sequence }
}

/**
 * Delivers everything that waits: rows marked and `message.user` appended in one fenced transaction, so each message is
 * in the log exactly once. Returns the new events in order. `interrupt`: the turn is to be stopped first, which what comes after
 * must not be part of; nothing is delivered until that is acknowledged.
 */
export async function deliverFollowups(db: Db, lease: Lease): Promise<Delivery> {
  // Asked at every step of every run and mostly answered by "none": that takes one statement and no lock.
  const waiting = await readWaiting(db, lease, sql``)
  if (typeof waiting === 'string' || 'interrupt' in waiting) return waiting
  if (waiting.undelivered === 0) return { messages: [] }
  return db.transaction().execute(async (trx) => {
    const run = await readWaiting(trx, lease, sql`for update`)
    if (typeof run === 'string' || 'interrupt' in run) return run
    const delivered = await sql`
      with waiting as (
        select f.followup_id, f.message, p.display_name as author,
          (row_number() over (order by f.position))::int as place,
          (select jsonb_agg(jsonb_build_object('file_name', a.file_name, 'mime_type', a.mime_type,
            'path', a.path) order by a.attachment_id)
            from attachments a where a.followup_id = f.followup_id) as attachments,
          -- Its place is that of the event that said so.
          (select e.data ->> 'model_id' from events e where e.run_id = f.run_id and e.sequence = f.position) as model_id
        from followups f join principals p on p.principal_id = f.author_id
        where f.run_id = ${lease.run_id} and f.delivered_at is null),
      marked as (
        update followups f set delivered_at = clock_timestamp() from waiting w where f.followup_id = w.followup_id),
      counted as (
        update runs set undelivered = undelivered - n, last_sequence = last_sequence + 2 * n,
          updated_at = case when n > 0 then next_update(updated_at) else updated_at end
        from (select count(*)::int as n from waiting) c where run_id = ${lease.run_id} and n > 0)
      insert into events (run_id, sequence, type, data)
      select ${lease.run_id}::uuid as run_id, ${run.last_sequence}::int + 2 * place - 1 as sequence, 'followup.delivered',
        jsonb_build_object('followup_id', followup_id) from waiting
      union all
      select ${lease.run_id}::uuid, ${run.last_sequence}::int + 2 * place, 'message.user', jsonb_strip_nulls(jsonb_build_object(
        'message_id', followup_id, 'text', message, 'followup_id', followup_id, 'author', author,
        'attachments', attachments, 'model_id', model_id)) from waiting
      -- Their times are those of this order.
      order by sequence
      returning 1`.execute(trx)
    if (delivered.rows.length === 0) return { messages: [] }
    const messages = []
    for await (const events of readLogPages(trx, lease.run_id, run.last_sequence))
      messages.push(...events.filter((event) => event.type === 'message.user'))
    return { messages }
  })
}
