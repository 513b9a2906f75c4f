/**
 * What triggers say on GitHub of their runs. A row is written with its delivery, and says what the comment told last; what it is to
 * tell is read off the run. So nothing is lost with a process, and of two states the later one is told.
 */
import { type RawBuilder, sql } from 'kysely'
import type { RunState, RunStatusMessage } from '../contract/state.ts'
import { TERMINAL_STATES } from '../contract/state.ts'
import type { TriggerReply, TriggerReplyStatus } from '../contract/trigger.ts'
import type { Db } from './db.ts'
import { among } from './sql-fragments.ts'
import { json } from './storable.ts'

/** Whoever posts one has so long; then another process does. */
const TAKEN = sql`interval '90 seconds'`
/** One that fails for so long is given up. */
const GIVEN_UP = sql`interval '24 hours'`

/** Where on GitHub. */
export interface Thread {
  /** Of the address for people, with a port perhaps. */
  host: string
  /** As in `acme/site`. */
  repository: string
  /** Of the issue or pull request. */
  number: number
  /** Of the comment on the code that began its thread. */
  review_comment_id?: number
}

/** What is to be looked at now. */
export interface DueReply {
  delivery_id: string
  trigger_id: string
  run_id: string
  thread: Thread
  attempts: number
  /** This one included, since something went well. */
  tries: number
  created_at: Date
  told: string | null
  /** A bigint, which the driver reads as a text. */
  comment_id: string | null
  /** As the trigger has it by now; `null`: it answers no more. */
  reply: TriggerReply | null
  editor_id: string
  editor_disabled: boolean
  trigger_scope: 'User' | 'Team'
  state: RunState
  execution: number
  status_message: RunStatusMessage | null
  /** The first end of the run after the delivery. */
  end: { sequence: number; state: RunState; status_message?: RunStatusMessage } | null
  last_sequence: number
  after_sequence: number
}

/** In the transaction of the delivery, after its run was stored or its follow-up accepted. */
export async function insertReply(
  trx: Db,
  {
    delivery_id,
    run_id,
    thread,
    at_once,
  }: { delivery_id: string; run_id: string; thread: Thread; at_once: boolean },
): Promise<void> {
  await sql`
    insert into trigger_replies (delivery_id, run_id, thread, after_sequence, seen_state, seen_execution, next_attempt_at)
    select ${delivery_id}::uuid, run_id, ${json(thread)}, last_sequence, state, execution,
      ${at_once ? sql`clock_timestamp()` : sql`null::timestamptz`}
    from runs where run_id = ${run_id}::uuid`.execute(trx)
}

/** Due or not. */
export const REPLIES_WAIT = sql<boolean>`exists (select from trigger_replies where status = 'pending')`

/** Takes those that are due for a minute and a half, at most `limit`. No two processes take the same. `null` if no row is pending. */
export async function takeReplies(db: Db, limit: number): Promise<DueReply[] | null> {
  // As deliveries of webhooks are looked for.
  const waiting = await sql<{ some: boolean }>`select ${REPLIES_WAIT} as some`.execute(db)
  if (!waiting.rows[0]?.some) return null
  const { rows } = await sql<DueReply>`
    with chosen as materialized (
      select p.delivery_id from trigger_replies p join runs r using (run_id)
      where p.status = 'pending' and case when p.next_attempt_at is not null then p.next_attempt_at <= clock_timestamp()
        -- A debug turn answers a run that stays as it was.
        else r.state = 'FAILED' and r.debug is null and (r.state, r.execution) is not distinct from (p.seen_state, p.seen_execution)
            and exists (select from events d where d.run_id = r.run_id and d.sequence > p.after_sequence and d.type = 'debug.ended')
          or (r.state in (${among([...TERMINAL_STATES, 'BLOCKED'])}) or r.execution > p.seen_execution)
          and (r.state, r.execution) is distinct from (p.seen_state, p.seen_execution) end
      order by p.next_attempt_at nulls first limit ${limit}::int for update of p skip locked),
    taken as (
      update trigger_replies p set attempts = p.attempts + 1, tries = p.tries + 1, next_attempt_at = clock_timestamp() + ${TAKEN}
      from chosen c where c.delivery_id = p.delivery_id returning p.*)
    select p.delivery_id, d.trigger_id, p.run_id, p.thread, p.attempts, p.tries, p.created_at, p.told, p.comment_id::text as comment_id,
      t.reply, t.editor_id, e.disabled as editor_disabled, t.scope as trigger_scope, r.state, r.execution, r.status_message,
      r.last_sequence, p.after_sequence,
      (select jsonb_build_object('sequence', v.sequence, 'state', coalesce(v.data->'outcome', v.data->'state'), 'status_message', v.data->'status_message')
        from events v where v.run_id = p.run_id and v.sequence > p.after_sequence and (
          v.type = 'debug.ended' or v.type = 'run.state' and v.data->>'state' in (${among(TERMINAL_STATES)})) order by v.sequence limit 1) as end
    from taken p join trigger_deliveries d using (delivery_id) join triggers t using (trigger_id)
      join principals e on e.principal_id = t.editor_id join runs r on r.run_id = p.run_id`.execute(db)
  return rows
}

/** Of the attempt that was taken; another process may have taken it since. */
const ofAttempt = ({
  delivery_id,
  attempts,
}: Pick<DueReply, 'delivery_id' | 'attempts'>): RawBuilder<boolean> =>
  sql<boolean>`delivery_id = ${delivery_id}::uuid and attempts = ${attempts}::int and status = 'pending'`

/** The comment says this now; with the end of the run there is nothing more to say. */
export async function markTold(
  db: Db,
  due: DueReply,
  { told, comment }: { told: string | null; comment?: { id: number; url: string } },
): Promise<void> {
  await sql`
    update trigger_replies set told = ${told}::text, seen_state = ${due.state}, seen_execution = ${due.execution}::int,
      ${comment ? sql`comment_id = ${comment.id}::bigint, comment_url = ${comment.url}::text,` : sql``}
      status = ${told !== null && due.end !== null ? 'posted' : 'pending'}, tries = 0, failing_since = null,
      next_attempt_at = null, error = null
    where ${ofAttempt(due)}`.execute(db)
}

/** The comment is there, whatever else fails: it is not made a second time. */
export async function keepComment(
  db: Db,
  due: DueReply,
  comment: { id: number; url: string },
): Promise<void> {
  await sql`
    update trigger_replies set comment_id = ${comment.id}::bigint, comment_url = ${comment.url}::text
    where ${ofAttempt(due)}`.execute(db)
}

/** Tried again after `pause_ms`, unless it was tried for a day or there is no use in it. */
export async function markReplyFailed(
  db: Db,
  due: DueReply,
  { error, pause_ms, is_final }: { error: string; pause_ms: number; is_final: boolean },
): Promise<void> {
  const hopeless = sql`(${is_final}::boolean or coalesce(failing_since < clock_timestamp() - ${GIVEN_UP}, false))`
  await sql`
    update trigger_replies set error = ${error}::text, failing_since = coalesce(failing_since, clock_timestamp()),
      status = case when ${hopeless} then 'failed' else 'pending' end,
      next_attempt_at = case when ${hopeless} then null
        else clock_timestamp() + ${pause_ms}::double precision * interval '1 millisecond' end
    where ${ofAttempt(due)}`.execute(db)
}

/** It was not said to its end, which is nobody's failure: whoever looks next may take it. */
export async function handBackReply(db: Db, due: DueReply): Promise<void> {
  await sql`update trigger_replies set next_attempt_at = clock_timestamp() where ${ofAttempt(due)}`.execute(
    db,
  )
}

/** What the agent said last in this part of a run's log. */
export async function readAnswerBetween(
  db: Db,
  run_id: string,
  [after, until]: readonly [number, number],
): Promise<string | null> {
  const { rows } = await sql<{ text: string }>`
    select data->>'text' as text from events
    where run_id = ${run_id}::uuid and sequence > ${after}::int and sequence <= ${until}::int
      and type = 'message.assistant' and data->>'text' <> '' order by sequence desc limit 1`.execute(db)
  return rows[0]?.text ?? null
}

export interface ReplyRow {
  status: TriggerReplyStatus
  comment_url: string | null
  error: string | null
}
