import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { AppError } from '../contract/error.ts'
import type { RunEvent } from '../contract/event.ts'
import type { FollowupOutcome, OnBusy } from '../contract/run-request.ts'
import type { RunState } from '../contract/state.ts'
import { insertAttachments, type StoredAttachment } from './attachments.ts'
import type { Db } from './db.ts'
import { readEvents } from './events.ts'
import { held, type Lease } from './leases.ts'
import { visibleTo } from './runs.ts'

export interface NewFollowup {
  run_id: string
  author_id: string
  message: string
  mode: string
  on_busy: OnBusy
  attachments: StoredAttachment[]
}

interface LockedRun {
  run_id: string
  state: RunState
  attempt: number
  worker_id: string | null
  pool: string
  author: string
}

/**
 * Accepts a message whatever the run is doing: stored, counted and logged, and an ended run queued again, in the
 * caller's transaction, under the run's row lock. `claimable_in`: the pool to be woken after the commit.
 */
export async function acceptFollowup(
  trx: Db,
  followup: NewFollowup,
): Promise<{ followup_id: string; outcome: FollowupOutcome; claimable_in: string | null }> {
  const locked = await sql<LockedRun>`
    select r.run_id, r.state, r.attempt, r.worker_id, r.pool, p.display_name as author
    from runs r join principals p on p.principal_id = ${followup.author_id}
    where r.run_id = ${followup.run_id} and ${visibleTo(followup.author_id)} for update of r`.execute(trx)
  const run = locked.rows[0]
  if (!run) throw new AppError('resource_not_found', 'There is no run with this id.')
  const outcome = outcomeFor(run)
  if (outcome === 'live_session' && followup.on_busy === 'reject') {
    throw new AppError('conflict', 'The agent is working and on_busy is reject.', { retryable: false })
  }
  const requeued = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED', 'BLOCKED'].includes(run.state)
  if (!followup.message.trim() && run.attempt === 0) {
    throw new AppError('invalid_request', 'message: is required, the run has no saved context to continue.')
  }
  const interrupts = outcome === 'live_session' && followup.on_busy === 'interrupt'
  const followup_id = uuidv7()
  await sql`
    with changed as (
      update runs set undelivered = undelivered + 1,
        last_sequence = last_sequence + 1 + ${requeued ? 1 : 0},
        ${requeued ? sql`state = 'QUEUED', execution = execution + 1, status_message = null, finished_at = null,` : sql``}
        ${interrupts ? sql`interrupt_attempt = attempt,` : sql``}
        updated_at = next_update(updated_at)
      where run_id = ${run.run_id} returning *),
    logged as (
      insert into events (run_id, sequence, type, data)
      select run_id, last_sequence - ${requeued ? 1 : 0}, 'followup.accepted', jsonb_build_object(
        'followup_id', ${followup_id}::text, 'message', ${followup.message}::text, 'outcome', ${outcome}::text,
        'author', ${run.author}::text) from changed
      union all
      select run_id, last_sequence, 'run.state', jsonb_build_object('state', 'QUEUED', 'previous_state', ${run.state}::text,
        'execution', execution, 'attempt', attempt) from changed where ${requeued})
    insert into followups (followup_id, run_id, position, message, mode, outcome, author_id)
    select ${followup_id}::uuid, run_id, last_sequence - ${requeued ? 1 : 0}, ${followup.message}, ${followup.mode}, ${outcome}, ${followup.author_id}::uuid
    from changed`.execute(trx)
  await insertAttachments(trx, run.run_id, followup_id, followup.attachments)
  return { followup_id, outcome, claimable_in: requeued && run.worker_id === null ? run.pool : null }
}

function outcomeFor(run: LockedRun): FollowupOutcome {
  if (run.state === 'QUEUED') return run.attempt === 0 ? 'queued_prompt' : 'queue_pending'
  if (run.state === 'CLAIMED' || run.state === 'INPROGRESS') return 'live_session'
  // Ended, but its worker still stops processes: claimable as soon as it lets go.
  return run.worker_id === null ? 'handoff_execution' : 'queue_pending'
}

/**
 * Delivers everything that waits: rows marked and `message.user` appended in one fenced transaction, so each message is
 * in the log exactly once. Returns the new events in order; `null` when the lease is lost.
 */
export async function deliverFollowups(
  db: Db,
  lease: Lease,
): Promise<Array<Extract<RunEvent, { type: 'message.user' }>> | null> {
  // Asked at every step of every run and mostly answered by "none": that takes one statement and no lock.
  const waiting = await sql<{ undelivered: number }>`
    select undelivered from runs where ${held(lease)} and state in ('CLAIMED', 'INPROGRESS')`.execute(db)
  if (!waiting.rows[0]) return null
  if (waiting.rows[0].undelivered === 0) return []
  return db.transaction().execute(async (trx) => {
    const locked = await sql<{ last_sequence: number }>`
      select last_sequence from runs where ${held(lease)} and state in ('CLAIMED', 'INPROGRESS') for update`.execute(
      trx,
    )
    const run = locked.rows[0]
    if (!run) return null
    const delivered = await sql`
      with waiting as (
        select f.followup_id, f.message, p.display_name as author,
          (row_number() over (order by f.position))::int as place,
          (select jsonb_agg(jsonb_build_object('file_name', a.file_name, 'mime_type', a.mime_type,
            'path', 'attachments/' || a.file_name) order by a.attachment_id)
            from attachments a where a.followup_id = f.followup_id) as attachments
        from followups f join principals p on p.principal_id = f.author_id
        where f.run_id = ${lease.run_id} and f.delivered_at is null),
      marked as (
        update followups f set delivered_at = clock_timestamp() from waiting w where f.followup_id = w.followup_id),
      counted as (
        update runs set undelivered = undelivered - n, last_sequence = last_sequence + 2 * n,
          updated_at = case when n > 0 then next_update(updated_at) else updated_at end
        from (select count(*)::int as n from waiting) c where run_id = ${lease.run_id} and n > 0)
      insert into events (run_id, sequence, type, data)
      select ${lease.run_id}::uuid, ${run.last_sequence}::int + 2 * place - 1, 'followup.delivered',
        jsonb_build_object('followup_id', followup_id) from waiting
      union all
      select ${lease.run_id}::uuid, ${run.last_sequence}::int + 2 * place, 'message.user', jsonb_strip_nulls(jsonb_build_object(
        'message_id', followup_id, 'text', message, 'followup_id', followup_id, 'author', author,
        'attachments', attachments)) from waiting
      returning 1`.execute(trx)
    if (delivered.rows.length === 0) return []
    const events = await readEvents(trx, lease.run_id, run.last_sequence, delivered.rows.length)
    return events.filter((event) => event.type === 'message.user')
  })
}
