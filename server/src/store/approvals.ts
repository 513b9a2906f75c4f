import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { ApprovalDecision } from '../contract/approval.ts'
import { AppError } from '../contract/error.ts'
import { isResting, type RunState } from '../contract/state.ts'
import type { Db } from './db.ts'
import { IS_DEBUGGABLE } from './debug-turns.ts'
import { requireGrantsFor } from './grants.ts'
import { orphaned } from './principals.ts'
import { visibleTo } from './runs.ts'
import { AT_WORK } from './sql-fragments.ts'
import { goOn } from './transitions.ts'

export interface ApprovalAnswer {
  run_id: string
  approval_id: string
  decision: ApprovalDecision
  reason: string | undefined
  author: Actor
}

interface WaitingRun {
  run_id: string
  state: RunState
  worker_id: string | null
  is_debuggable: boolean
  pool: string
  environment_id: string | null
  scope: 'User' | 'Team'
  principal_id: string
  /** Whoever executes it may not any more. */
  orphaned: boolean
  author: string
  waiting: string | null
  was_asked: boolean
  is_asking: boolean
}

/** How the answer is refused that comes a moment too early: it may be given again. */
export class StillAsking extends AppError {
  constructor() {
    super('conflict', 'The agent still stops to ask this. Try again in a moment.', { retryable: true })
  }
}

/** Nothing asks any more behind one of these: what was asked was put, taken back, or its worker was lost. */
const OVER = sql`l.type in ('approval.requested', 'approval.answered', 'message.user', 'attempt.lost', 'run.state', 'debug.ended')`

/** Whether a worker has it. */
export async function isAtWork(db: Db, run_id: string): Promise<boolean> {
  const found = await sql`
    select from runs where run_id = ${run_id} and ${AT_WORK}`.execute(db)
  return found.rows.length > 0
}

/**
 * Logs the answer and queues the run again, in the caller's transaction, under the run's row lock. `claimable_in`: the pool to
 * be woken after the commit. Throws `resource_not_found`, and `conflict` where nothing waits for this answer any more; while the
 * turn ends that asks for it, `StillAsking`.
 */
export async function answerApproval(
  trx: Db,
  { run_id, approval_id, decision, reason, author }: ApprovalAnswer,
): Promise<{ sequence: number; claimable_in: string | null }> {
  const locked = await sql<WaitingRun>`
    select r.run_id, r.state, r.worker_id, ${IS_DEBUGGABLE} as is_debuggable, r.pool, r.environment_id, r.scope, r.principal_id, e.disabled as orphaned, p.display_name as author,
      case when r.debug is not null then null when r.debug_until is null then r.status_message else (
        select d.data -> 'status_message' from events d where d.run_id = r.run_id and d.type = 'debug.ended'
        order by d.sequence desc limit 1) end -> 'approval' ->> 'approval_id' as waiting,
      q.sequence is not null as was_asked,
      ${AT_WORK} and not exists (select from events l
        where l.run_id = r.run_id and l.sequence > q.sequence and ${OVER}) as is_asking
    from runs r join principals e on e.principal_id = r.principal_id
      join principals p on p.principal_id = ${author.principal_id}
      cross join lateral (select max(a.sequence) as sequence from events a where a.run_id = r.run_id
        and a.type = 'approval.requested' and a.data ->> 'approval_id' = ${approval_id}) q
    where r.run_id = ${run_id} and ${visibleTo(author)} for update of r`.execute(trx)
  const run = locked.rows[0]
  if (!run) throw new AppError('resource_not_found', 'There is no run with this id.')
  // As for follow-ups.
  if (run.orphaned) throw orphaned()
  await requireGrantsFor(trx, author, run)
  if (!run.was_asked)
    throw new AppError('resource_not_found', 'approval_id: the run asked for no such approval.')
  if (run.is_asking) throw new StillAsking()
  if (!isResting(run.state) || run.waiting !== approval_id)
    throw new AppError('conflict', 'Nothing waits for this approval any more.', { retryable: false })
  const logged = await sql<{ sequence: number }>`
    with changed as (
      update runs set last_sequence = last_sequence + 1, updated_at = next_update(updated_at)
      where run_id = ${run.run_id} returning *)
    insert into events (run_id, sequence, type, data)
    select run_id, last_sequence, 'approval.answered', jsonb_strip_nulls(jsonb_build_object(
      'approval_id', ${approval_id}::text, 'decision', ${decision}::text,
      'reason', ${reason ?? null}::text, 'author', ${run.author}::text)) from changed
    returning sequence`.execute(trx)
  const reopened = await goOn(trx, run)
  const sequence = logged.rows[0]?.sequence ?? 0
  return { sequence, claimable_in: reopened && run.worker_id === null ? run.pool : null }
}
