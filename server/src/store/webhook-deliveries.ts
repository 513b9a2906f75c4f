import { type RawBuilder, sql } from 'kysely'
import { BUDGETS } from '../budgets/budgets.ts'
import type { ErrorCode } from '../contract/error.ts'
import type { RunSourceType } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { RunState } from '../contract/state.ts'
import {
  type DeliveryStatus,
  type ListDeliveriesQuery,
  NO_RUN,
  TEST_EVENT,
  type WebhookEvent,
  type WebhookFormat,
} from '../contract/webhook.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import type { Db } from './db.ts'
import { removeInParts } from './remove-in-parts.ts'
import { json } from './storable.ts'
import { type EventFacts, FACTS, TEST_TITLE, viewFacts } from './webhook-facts.ts'

/** On their way at once from one process. */
export const MAX_AT_ONCE = BUDGETS.webhook_sends.in_all + BUDGETS.letter_sends.in_all
/** One that fails for so long is given up. */
const GIVEN_UP = sql`interval '24 hours'`
/** Failures that are further apart than this have nothing to do with each other. */
const SILENCE = sql`interval '2 days'`
/** A webhook of which nothing has gone well for so long is disabled. */
const HOPELESS = sql`interval '5 days'`
const KEPT = sql`interval '30 days'`
/** A mail server may take minutes to accept a letter. */
export const LETTER_TAKEN_MS = 12 * 60_000
/** For how long a delivery of the webhook `w` is taken; then another process sends it. */
export const TAKEN = sql`case w.format when 'email' then ${sql.lit(LETTER_TAKEN_MS / 1_000)} * interval '1 second' else interval '60 seconds' end`
/** After a rotation both secrets sign. */
const ROTATION = sql`interval '24 hours'`

export interface DeliveryRow {
  delivery_id: string
  /** Their order: a bigint, which the driver reads as a text. */
  place: string
  webhook_id: string
  run_id: string
  event_type: WebhookEvent['type']
  state: RunState
  source: RunSourceType
  error_code: ErrorCode | null
  facts: EventFacts
  status: DeliveryStatus
  attempts: number
  created_at: Date
  last_attempt_at: Date | null
  next_attempt_at: Date | null
  response_status: number | null
  error: string | null
}

/** What is to be sent now. */
export interface DueDelivery
  extends Pick<
    DeliveryRow,
    | 'delivery_id'
    | 'webhook_id'
    | 'run_id'
    | 'event_type'
    | 'state'
    | 'source'
    | 'error_code'
    | 'facts'
    | 'attempts'
    | 'created_at'
  > {
  url: string
  format: WebhookFormat
  scope: 'User' | 'Team'
  /** Who gave the webhook its address. */
  set_up_by: string
  sealed: Uint8Array
  /** This one included, since it was queued. */
  tries: number
  /** The secret before the current one signs too. */
  signs_twice: boolean
}

/** The run may have gone on since: the event that queued the delivery says why it stopped. */
const SAID = sql`coalesce((select r.source from runs r where r.run_id = d.run_id), 'API') as source,
  (select e.data #>> '{status_message,error_code}' from events e
    where e.run_id = d.run_id and e.sequence = d.sequence and e.type = 'run.state') as error_code, ${FACTS}`

const COLUMNS = sql`d.delivery_id, d.place::text as place, d.webhook_id, coalesce(d.run_id, ${NO_RUN}::uuid) as run_id, d.event_type, d.state, d.status, d.attempts,
  d.created_at, d.last_attempt_at, d.next_attempt_at, d.response_status, d.error, ${SAID}`

type Told = Pick<
  DeliveryRow,
  'webhook_id' | 'event_type' | 'created_at' | 'run_id' | 'state' | 'source' | 'error_code' | 'facts'
>

/** What is sent. `public_url`: what links are made of. */
export function viewEvent(told: Told, public_url: string): WebhookEvent {
  const { event_type, created_at, run_id, state, source, error_code, facts, webhook_id } = told
  const path = event_type === TEST_EVENT ? `/webhooks/${webhook_id}` : `/sessions/${run_id}`
  return {
    type: event_type,
    timestamp: created_at.toISOString(),
    data: {
      ...{ run_id, state, source, ...(error_code === null ? {} : { error_code }) },
      ...{ link: public_url + path, ...viewFacts(facts) },
    },
  }
}

/** What a test is sent. */
export const viewTest = (
  test: Pick<DeliveryRow, 'webhook_id' | 'created_at'> & Pick<EventFacts, 'creator'>,
  public_url: string,
): WebhookEvent => {
  const nothing = { message: null, waits_for: null, result: null, changes: null, pull_requests: null }
  const facts = { title: TEST_TITLE, creator: test.creator, ...nothing }
  const about = {
    event_type: TEST_EVENT,
    run_id: NO_RUN,
    state: 'SUCCEEDED',
    source: 'API',
    error_code: null,
  } as const
  return viewEvent({ ...test, ...about, facts }, public_url)
}

/** Due or not. */
export const DELIVERIES_WAIT = sql<boolean>`exists (select from webhook_deliveries where status = 'pending')`

const IS_LETTER = sql`(w.format = 'email')`
const ofKind = (limit: 'most' | 'in_all'): RawBuilder<unknown> =>
  sql`case when r.is_letter then ${sql.lit(BUDGETS.letter_sends[limit])} else ${sql.lit(BUDGETS.webhook_sends[limit])} end`

/**
 * Takes deliveries that are due, at most `limit` and `limit_each` of one webhook, those that are `busy` included: of each
 * webhook and run the first alone, which keeps their order. Taken for a while: a process that dies with them leaves them to
 * the others. No two take the same. `null` if no row is pending.
 */
export async function takeDeliveries(
  db: Db,
  { limit, limit_each, busy }: { limit: number; limit_each: number; busy: ReadonlyMap<string, number> },
): Promise<DueDelivery[] | null> {
  // Mostly nothing waits at all, and to plan the statement below costs the embedded database five times as much.
  const waiting = await sql<{ some: boolean }>`select ${DELIVERIES_WAIT} as some`.execute(db)
  if (!waiting.rows[0]?.some) return null
  const { rows } = await sql<DueDelivery>`
    with busy as materialized (
      select w.creator_id, ${IS_LETTER} as is_letter, sum(b.value::int) as n
      from jsonb_each_text(${json(Object.fromEntries(busy))}) b join webhooks w on w.webhook_id = b.key::uuid group by 1, 2),
    ready as materialized (
      select d.delivery_id, d.next_attempt_at, w.failing_since is not null as fails, ${IS_LETTER} as is_letter,
        coalesce(b.n, 0) + row_number() over (
          partition by w.creator_id, ${IS_LETTER} order by w.failing_since is not null, d.next_attempt_at) as turn
      from webhooks w left join busy b on b.creator_id = w.creator_id and b.is_letter = ${IS_LETTER} join principals p on p.principal_id = w.creator_id,
        lateral (
          select d.delivery_id, d.next_attempt_at from webhook_deliveries d
          where d.webhook_id = w.webhook_id and d.status = 'pending' and d.next_attempt_at <= now()
            -- A limit, so that no plan reads all that waits to find the first of each run.
            and d.sequence = (select e.sequence from webhook_deliveries e where e.webhook_id = d.webhook_id
              and e.run_id = d.run_id and e.status = 'pending' order by e.sequence limit 1)
          order by d.next_attempt_at
          -- One that fails is asked by one delivery at a time, however many wait.
          limit greatest(0, case when w.failing_since is null then ${limit_each}::int else 1 end
            - coalesce((${json(Object.fromEntries(busy))} ->> w.webhook_id::text)::int, 0))) d
      where w.enabled and not p.disabled),
    ordered as materialized (
      select r.*, coalesce((select sum(b.n) from busy b where b.is_letter = r.is_letter), 0)
        + row_number() over (partition by r.is_letter order by r.fails, r.turn, r.next_attempt_at) as place
      from ready r
      -- Of one person's many webhooks, too, so that slow receivers keep nobody else waiting.
      where r.turn <= ${ofKind('most')}),
    chosen as materialized (
      select d.delivery_id from webhook_deliveries d join ordered r using (delivery_id)
      where d.status = 'pending' and d.next_attempt_at <= now()
        -- Neither a slow mail server keeps requests waiting, nor the other way round.
        and r.place <= ${ofKind('in_all')}
      -- Those that fail have waited longest, and take longest: where they are many, nobody else would have a turn.
      order by r.fails, r.turn, r.next_attempt_at limit ${limit}::int for update of d skip locked),
    taken as (
      update webhook_deliveries d set attempts = d.attempts + 1, tries = d.tries + 1, last_attempt_at = date_trunc('milliseconds', clock_timestamp()),
        next_attempt_at = clock_timestamp() + ${TAKEN}
      from chosen c, webhooks w where c.delivery_id = d.delivery_id and w.webhook_id = d.webhook_id returning d.*)
    select d.delivery_id, d.webhook_id, d.run_id, d.event_type, d.state, d.attempts, d.tries, d.created_at, w.url, w.format, w.scope, e.display_name as set_up_by, w.sealed, ${SAID},
      coalesce(w.rotated_at > clock_timestamp() - ${ROTATION}, false) as signs_twice
    from taken d join webhooks w using (webhook_id) join principals e on e.principal_id = w.editor_id order by d.place`.execute(
    db,
  )
  return rows
}

/** Of the attempt that was taken; another one may have been made since, by a process that took it to be dead. */
const ofAttempt = ({
  delivery_id,
  attempts,
}: Pick<DueDelivery, 'delivery_id' | 'attempts'>): RawBuilder<boolean> =>
  sql<boolean>`d.delivery_id = ${delivery_id}::uuid and d.attempts = ${attempts}::int and d.status = 'pending'`

export async function markDelivered(db: Db, due: DueDelivery, response_status: number): Promise<void> {
  await sql`
    with done as (
      update webhook_deliveries d set status = 'delivered', next_attempt_at = null, error = null,
        response_status = ${response_status}::int
      where ${ofAttempt(due)} returning webhook_id)
    update webhooks w set failing_since = null from done
    where w.webhook_id = done.webhook_id and w.failing_since is not null`.execute(db)
}

/** It was not sent to its end, which is nobody's failure: whoever looks next may take it. */
export async function handBack(db: Db, due: DueDelivery): Promise<void> {
  await sql`update webhook_deliveries d set next_attempt_at = clock_timestamp() where ${ofAttempt(due)}`.execute(
    db,
  )
}

export interface FailedAttempt {
  response_status: number | null
  error: string
  /** Until the next try, in milliseconds. */
  pause_ms: number
  /** The receiver wants nothing more. */
  is_gone: boolean
}

/**
 * The delivery is tried again, unless it was tried for a day. Returns why the webhook was disabled by it, or `null`: it is
 * where nothing has gone well for five days, or the receiver is gone for good.
 */
export async function markFailed(
  db: Db,
  due: DueDelivery,
  { response_status, error, pause_ms, is_gone }: FailedAttempt,
): Promise<string | null> {
  const { rows } = await sql<{ disabled_reason: string | null }>`
    with failed as (
      update webhook_deliveries d set response_status = ${response_status}::int, error = ${error}::text,
        status = case when d.queued_at < clock_timestamp() - ${GIVEN_UP} then 'failed' else 'pending' end,
        next_attempt_at = case when d.queued_at < clock_timestamp() - ${GIVEN_UP} then null
          else date_trunc('milliseconds', clock_timestamp() + ${pause_ms}::double precision * interval '1 millisecond') end
      where ${ofAttempt(due)} returning d.webhook_id, d.run_id, d.sequence, d.next_attempt_at),
    -- What comes after it in its run cannot go before: due it would be looked at, and left, each time anybody looks.
    put_off as (
      update webhook_deliveries e set next_attempt_at = f.next_attempt_at from failed f
      where e.webhook_id = f.webhook_id and e.run_id = f.run_id and e.status = 'pending' and e.sequence > f.sequence
        and f.next_attempt_at is not null)
    update webhooks w set failing_since = coalesce(h.since, date_trunc('milliseconds', clock_timestamp())),
      failed_at = clock_timestamp(), enabled = h.reason is null, disabled_reason = h.reason,
      updated_at = case when h.reason is null then w.updated_at else next_update(w.updated_at) end
    from failed f, lateral (
      select y.since, case
        when ${is_gone}::boolean then 'The receiver answered 410: it wants nothing more.'
        when y.since < clock_timestamp() - ${HOPELESS} then 'Nothing could be delivered for five days.' end as reason
      from (select case when x.failed_at > clock_timestamp() - ${SILENCE} then x.failing_since end as since
        from webhooks x where x.webhook_id = f.webhook_id) y) h
    where w.webhook_id = f.webhook_id and w.enabled returning w.disabled_reason`.execute(db)
  return rows[0]?.disabled_reason ?? null
}

/** Newest first. */
export async function listDeliveries(
  db: Db,
  webhook_id: string,
  { limit = 50, cursor, status }: ListDeliveriesQuery,
): Promise<{ deliveries: DeliveryRow[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : readPosition(cursor)
  const { rows } = await sql<DeliveryRow>`
    select ${COLUMNS} from webhook_deliveries d where d.webhook_id = ${webhook_id}::uuid
      ${status ? sql`and d.status = ${status}` : sql``} ${before === null ? sql`` : sql`and d.place < ${before}::bigint`}
    order by d.place desc limit ${limit + 1}::int`.execute(db)
  const deliveries = rows.slice(0, limit)
  const last = deliveries.at(-1)
  return { deliveries, next_cursor: rows.length > limit && last ? encodeCursor([last.place]) : null }
}

function readPosition(cursor: string): string {
  const [place] = decodeCursor(cursor, 1)
  if (typeof place !== 'string' || !/^[1-9]\d{0,17}$/.test(place)) throw brokenCursor()
  return place
}

/** A test, as it went: it is tried once, and nothing but its list knows of it. `null`: the webhook was deleted meanwhile. */
export async function insertTest(
  db: Db,
  test: Pick<DeliveryRow, 'delivery_id' | 'webhook_id' | 'created_at' | 'response_status' | 'error'>,
): Promise<DeliveryRow | null> {
  const sent_at = sql`${test.created_at.toISOString()}::timestamptz`
  const { rows } = await sql<DeliveryRow>`
    with d as (
      insert into webhook_deliveries (delivery_id, webhook_id, sequence, event_type, state, status, attempts, created_at,
        last_attempt_at, next_attempt_at, response_status, error)
      select ${test.delivery_id}::uuid, webhook_id, 0, ${TEST_EVENT}, 'SUCCEEDED',
        ${test.error === null ? 'delivered' : 'failed'}, 1, ${sent_at}, ${sent_at}, null,
        ${test.response_status}::int, ${test.error}::text
      from webhooks where webhook_id = ${test.webhook_id}::uuid for key share returning *)
    select ${COLUMNS} from d`.execute(db)
  return rows[0] ?? null
}

/** Sends it once more, from now on for a day; `null` when there is none, or it is a test. */
export async function requeueDelivery(
  db: Db,
  webhook_id: string,
  delivery_id: string,
): Promise<DeliveryRow | null> {
  if (!isUuid(delivery_id)) return null
  const { rows } = await sql<DeliveryRow>`
    with called as (
      update webhook_deliveries e set next_attempt_at = now() from webhook_deliveries d join webhooks w using (webhook_id)
      where d.delivery_id = ${delivery_id}::uuid and d.webhook_id = ${webhook_id}::uuid and e.webhook_id = d.webhook_id
        and e.run_id = d.run_id and e.status = 'pending' and e.delivery_id <> d.delivery_id and e.next_attempt_at > now() + ${TAKEN})
    update webhook_deliveries d set status = 'pending', tries = 0, queued_at = clock_timestamp(),
      next_attempt_at = date_trunc('milliseconds', clock_timestamp())
    where d.delivery_id = ${delivery_id}::uuid and d.webhook_id = ${webhook_id}::uuid and d.run_id is not null returning ${COLUMNS}`.execute(
    db,
  )
  return rows[0] ?? null
}

/** Those that have been done with for a month, and those that nobody will send: their webhook is disabled, or its creator. */
export async function removeOldDeliveries(db: Db): Promise<void> {
  await sql`
    update webhook_deliveries d set status = 'failed', next_attempt_at = null,
      error = coalesce(d.error, case when w.enabled then 'Who created the webhook is disabled.' else 'The webhook is disabled.' end)
    from webhooks w join principals p on p.principal_id = w.creator_id
    where w.webhook_id = d.webhook_id and d.status = 'pending' and (p.disabled or not w.enabled)
      and d.queued_at < clock_timestamp() - ${GIVEN_UP}`.execute(db)
  await removeInParts(
    db,
    'webhook_deliveries',
    sql`created_at < clock_timestamp() - ${KEPT} and status <> 'pending'`,
  )
}
