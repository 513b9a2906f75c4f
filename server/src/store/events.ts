import { sql } from 'kysely'
import { OUTPUT_BYTES } from '../contract/conversation.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { Db } from './db.ts'
import { telling } from './hint.ts'
import { held, type Lease } from './leases.ts'
import { PAGE_BYTES } from './page.ts'
import { keepUsage } from './run-usage.ts'
import type { LogPart } from './runs.ts'
import { AT_WORK, SETTLED } from './sql-fragments.ts'
import { json } from './storable.ts'

const MAX_SEQUENCE = 2 ** 31 - 1
/** Greater sums are not told exactly, in JavaScript as in JSON. */
const MOST = sql.lit(Number.MAX_SAFE_INTEGER)

export const toRunEvent = ({ sequence, run_id, type, occurred_at, data }: EventRow): RunEvent =>
  ({ sequence, run_id, type, occurred_at: occurred_at.toISOString(), data }) as RunEvent

export interface EventRow {
  run_id: string
  sequence: number
  type: string
  data: unknown
  occurred_at: Date
}

/**
 * Appends a batch in order and raises the run's `last_sequence` by as many, in one statement. Accepted while a worker
 * is at the run, and for two seconds after a cancel, so that what had been streamed is kept. Usage and artifacts
 * show in the run object, so they also move `updated_at`; output does not, which keeps the update in place (HOT).
 * `batch` rises by one with each call of an attempt: a batch whose commit was not heard of can be sent again and is
 * stored once. `waiting`: stored, and a follow-up or an interrupt may wait. `lost`: nothing was written.
 */
export async function appendEvents(
  db: Db,
  lease: Lease,
  batch: number,
  events: readonly NewEvent[],
  hint: string | null = null,
): Promise<'stored' | 'waiting' | 'lost'> {
  if (events.length === 0) return 'waiting'
  const usage = events.filter((event) => event.type === 'usage').map((event) => event.data)
  const sum = (of: (data: (typeof usage)[number]) => number) =>
    usage.reduce((total, data) => total + of(data), 0)
  const switched = events.findLast((event) => event.type === 'model.switched')?.data.to
  const visible =
    switched !== undefined ||
    events.some((event) => event.type === 'usage' || event.type === 'artifact.created')
  const stepped = events.some(isFinishedStep)
  const closed = events.flatMap((event) =>
    event.type === 'message.assistant' ? [event.data.message_id] : [],
  )
  const appended = await sql<{ waiting: boolean }>`
    with owned as (
      update runs set batch = ${batch}::int, last_sequence = last_sequence + ${events.length}
        ${visible ? sql`, updated_at = next_update(updated_at)` : sql``}
        ${stepped ? sql`, lost_attempts = 0` : sql``}
        ${switched === undefined ? sql`` : sql`, model_id = ${switched}::text, resolved = jsonb_set(resolved, '{model_id}', to_jsonb(${switched}::text))`}
        ${
          usage.length
            ? sql`, input_tokens = least(input_tokens + ${sum((u) => u.input_tokens)}::bigint, ${MOST}),
                output_tokens = least(output_tokens + ${sum((u) => u.output_tokens)}::bigint, ${MOST}),
                inference_cost_usd = inference_cost_usd + ${sum((u) => u.inference_cost_usd ?? 0)}::double precision`
            : sql``
        }
      where ${held(lease)} and batch < ${batch}::int and (${AT_WORK}
        or (state = 'CANCELLED' and finished_at > clock_timestamp() - interval '2 seconds'))
      returning run_id, last_sequence, resolved, undelivered > 0 or interrupt_sequence is not null or state = 'CANCELLED' as waiting),
    ${
      closed.length
        ? sql`shut as (delete from open_messages m using owned o where m.run_id = o.run_id and m.message_id = any(${closed}::text[])),`
        : sql``
    }
    ${usage.length ? sql`used as (${keepUsage(usage)}),` : sql``}
    logged as (
      insert into events (run_id, sequence, type, data)
      select o.run_id, o.last_sequence - ${events.length} + e.place, e.event->>'type', e.event->'data'
      from owned o, jsonb_array_elements(${json(events)}) with ordinality e (event, place))
    select waiting${telling(hint)} from owned`.execute(db)
  const [row] = appended.rows
  if (row) return row.waiting ? 'waiting' : 'stored'
  const stored = await sql`select 1 from runs where ${held(lease)} and batch >= ${batch}::int`.execute(db)
  return stored.rows.length > 0 ? 'waiting' : 'lost'
}

/** A step that ended by itself. One closed without knowing how it ended (its worker was lost, say) is no progress. */
const isFinishedStep = (event: NewEvent): boolean =>
  event.type === 'tool.result' && !(event.data.is_error && event.data.exit_code === null)

/**
 * The events of these parts of logs, part after part, without what the setup printed, which nobody goes on from. Of what one
 * call printed, those that begin within the last OUTPUT_BYTES.
 */
export async function readHistory(db: Db, parts: readonly LogPart[]): Promise<RunEvent[]> {
  if (parts.length === 0) return []
  const found = await sql<EventRow>`
    select run_id, sequence, type, data, occurred_at from (
      select e.*, p.place, coalesce(sum(case when e.type = 'tool.output' then octet_length(e.data->>'text') end) over (
        partition by e.run_id, e.data->>'tool_call_id' order by e.sequence desc
        rows between unbounded preceding and 1 preceding), 0) as later_bytes
      from jsonb_to_recordset(${json(parts.map((part, place) => ({ ...part, place })))})
        p (run_id uuid, sequence int, place int)
      join events e on e.run_id = p.run_id and e.sequence <= p.sequence and e.type <> 'setup.output') h
    where type <> 'tool.output' or later_bytes <= ${OUTPUT_BYTES}::int
    order by place, sequence`.execute(db)
  return found.rows.map(toRunEvent)
}

/** A run's own log, whole. */
export const readOwnHistory = (db: Db, run_id: string): Promise<RunEvent[]> =>
  readHistory(db, [{ run_id, sequence: MAX_SEQUENCE }])

/** The model that a message asked for, or that took the place of another one, whichever came last; `null`: neither. */
export async function readAskedModel(db: Db, run_id: string): Promise<string | null> {
  const found = await sql<{ model_id: string }>`
    select coalesce(data ->> 'to', data ->> 'model_id') as model_id from events
    where run_id = ${run_id} and (type = 'model.switched' or (type = 'message.user' and data ->> 'model_id' is not null))
    order by sequence desc limit 1`.execute(db)
  return found.rows[0]?.model_id ?? null
}

/** A part of a log, and how the log stood in the same snapshot. */
export interface LogPage {
  events: RunEvent[]
  /** The log already holds events after these. */
  has_more: boolean
  last_sequence: number
  /** The run has ended and its worker has let go. */
  settled: boolean
}

type LogPageRow = Omit<LogPage, 'events' | 'has_more'> & (EventRow | { [K in keyof EventRow]: null })

const isEvent = (row: LogPageRow): row is LogPageRow & EventRow => row.sequence !== null

/**
 * The events after `after`, oldest first: at most `limit`, and no more than begin within `max_bytes`, so that one event
 * always fits. One statement, so one snapshot. `null`: there is no such run.
 */
export async function readLog(
  db: Db,
  run_id: string,
  after: number,
  limit: number,
  max_bytes = PAGE_BYTES,
): Promise<LogPage | null> {
  const found = await sql<LogPageRow>`
    select r.last_sequence, ${SETTLED} as settled, e.*
    from runs r left join lateral (
      select run_id, sequence, type, data, occurred_at from (
        select *, sum(bytes) over (order by sequence) - bytes as bytes_before from events
        where run_id = ${run_id} and sequence > ${after}::bigint order by sequence limit ${limit}) page
      where bytes_before < ${max_bytes}::int) e on true
    where r.run_id = ${run_id} order by e.sequence`.execute(db)
  const [first] = found.rows
  if (!first) return null
  const { last_sequence, settled } = first
  const events = found.rows.filter(isEvent).map(toRunEvent)
  const last = events.at(-1)
  return { events, has_more: last !== undefined && last.sequence < last_sequence, last_sequence, settled }
}

const LOG_ROWS = 1000

/** The log after `after` up to where it ends, page after page. */
export async function* readLogPages(db: Db, run_id: string, after: number): AsyncGenerator<RunEvent[]> {
  for (let cursor = after; ; ) {
    const page = await readLog(db, run_id, cursor, LOG_ROWS)
    if (page) yield page.events
    const last = page?.events.at(-1)
    if (!page?.has_more || !last) return
    cursor = last.sequence
  }
}

export interface OpenMessage {
  message_id: string
  text: string
}

/** Replaces the text so far of messages on their way. Fenced; false when the lease is lost. */
export async function writeOpenMessages(
  db: Db,
  lease: Lease,
  messages: readonly OpenMessage[],
  hint: string | null = null,
): Promise<boolean> {
  const written = await sql`
    with owned as (select run_id from runs where ${held(lease)} and ${AT_WORK} and state <> 'CLAIMED'),
    upserted as (
      insert into open_messages (run_id, message_id, attempt, text)
      select o.run_id, m.message_id, ${lease.attempt}, m.text
      from owned o, jsonb_to_recordset(${json(messages)}) m (message_id text, text text)
      on conflict (run_id, message_id) do update set text = excluded.text, attempt = excluded.attempt)
    select 1${telling(hint)} from owned`.execute(db)
  return written.rows.length > 0
}
