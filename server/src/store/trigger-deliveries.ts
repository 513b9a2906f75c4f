/**
 * What came to triggers. A delivery and what it starts are committed together, and what tells it apart is unique for each
 * trigger: however often it comes and to whichever processes, it does its work once.
 */
import { sql } from 'kysely'
import { BUDGETS } from '../budgets/budgets.ts'
import { isUuid } from '../contract/run-id.ts'
import type { ListTriggerDeliveriesQuery, TriggerOutcome } from '../contract/trigger.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import type { Db } from './db.ts'
import { ROOM } from './quotas.ts'
import { removeInParts, repeatInParts } from './remove-in-parts.ts'
import { json } from './storable.ts'
import type { ReplyRow } from './trigger-replies.ts'

const KEPT = sql`interval '30 days'`
/** Its filter may have been wrong: within a day it can be replayed. */
const KEPT_FILTERED = sql`interval '1 day'`
/** How long a delivery is tried again for. */
const WAITS = sql`interval '24 hours'`
/** In one look: of so many triggers so many deliveries each, the oldest first. Whoever saved many triggers has no more turns. */
const TRIGGERS_AT_ONCE = 20
const WAITING_AT_ONCE = 10
const EMPTIED_AT_ONCE = 1_000

/** What the sender sent, as far as it is kept. */
export interface KeptPayload {
  headers: Record<string, string>
  payload: unknown
}

export interface TriggerDeliveryRow {
  delivery_id: string
  trigger_id: string
  sender_delivery_id: string | null
  received_at: Date
  event: string | null
  outcome: TriggerOutcome
  run_id: string | null
  reason: string | null
  duplicates: number
  replay_of: string | null
}

/** With what was said of it on GitHub. */
export interface ListedTriggerDelivery extends TriggerDeliveryRow {
  reply: ReplyRow | null
}

export type NewTriggerDelivery = Omit<TriggerDeliveryRow, 'received_at' | 'duplicates'> &
  KeptPayload & {
    /** By which it is told from others, as far as its sender vouches for that; `null`: it is replayed. */
    signed_as: string | null
  }

const COLUMNS = sql`delivery_id, trigger_id, sender_delivery_id, received_at, event, outcome, run_id, reason, duplicates, replay_of`

/** The delivery that came first and has come once more; `null`: it is new, or it failed and so may be done now. */
export async function countDuplicate(
  db: Db,
  trigger_id: string,
  signed_as: readonly string[],
): Promise<TriggerDeliveryRow | null> {
  const { rows } = await sql<TriggerDeliveryRow>`
    update trigger_deliveries set duplicates = duplicates + 1
    where trigger_id = ${trigger_id}::uuid and signed_as = any(${[...signed_as]}::text[]) and outcome <> 'failed'
    returning ${COLUMNS}`.execute(db)
  return rows[0] ?? null
}

/** The delivery that failed and has come once more, its row locked; `null` when there is none. */
export async function reopenFailed(
  trx: Db,
  trigger_id: string,
  { signed_as, headers, payload }: Pick<NewTriggerDelivery, 'signed_as' | 'headers' | 'payload'>,
): Promise<string | null> {
  if (signed_as === null) return null
  const { rows } = await sql<{ delivery_id: string }>`
    update trigger_deliveries set duplicates = duplicates + 1, received_at = date_trunc('milliseconds', clock_timestamp()),
      headers = ${json(headers)}, payload = ${json(payload)}
    where trigger_id = ${trigger_id}::uuid and signed_as = ${signed_as} and outcome = 'failed'
    returning delivery_id`.execute(trx)
  return rows[0]?.delivery_id ?? null
}

/** `null` when it has come before. Of two at the same moment the second waits for the first one's transaction. */
export async function insertDelivery(
  trx: Db,
  delivery: NewTriggerDelivery,
): Promise<TriggerDeliveryRow | null> {
  const { rows } = await sql<TriggerDeliveryRow>`
    insert into trigger_deliveries (delivery_id, trigger_id, sender_delivery_id, signed_as, event, outcome, run_id, reason, replay_of, headers, payload)
    values (${delivery.delivery_id}::uuid, ${delivery.trigger_id}::uuid, ${delivery.sender_delivery_id}, ${delivery.signed_as},
      ${delivery.event},
      ${delivery.outcome}, ${delivery.run_id}::uuid, ${delivery.reason}, ${delivery.replay_of}::uuid,
      ${json(delivery.headers)}, ${json(delivery.payload)})
    on conflict (trigger_id, signed_as) do nothing returning ${COLUMNS}`.execute(trx)
  return rows[0] ?? null
}

/** What came of it by now. */
export async function settleDelivery(
  trx: Db,
  delivery_id: string,
  { outcome, run_id, reason }: Pick<TriggerDeliveryRow, 'outcome' | 'run_id' | 'reason'>,
): Promise<TriggerDeliveryRow | null> {
  const { rows } = await sql<TriggerDeliveryRow>`
    update trigger_deliveries set outcome = ${outcome}, run_id = ${run_id}::uuid, reason = ${reason}
    where delivery_id = ${delivery_id}::uuid returning ${COLUMNS}`.execute(trx)
  return rows[0] ?? null
}

/** It cannot be replayed then. */
export async function forgetPayload(trx: Db, delivery_id: string): Promise<void> {
  await sql`update trigger_deliveries set headers = '{}', payload = 'null' where delivery_id = ${delivery_id}::uuid`.execute(
    trx,
  )
}

/** Why the oldest one waits that came before and waits for room; `null`: none does. */
export async function findWaitingForRoom(trx: Db, trigger_id: string): Promise<string | null> {
  const { rows } = await sql<{ reason: string }>`
    select reason from trigger_deliveries
    where trigger_id = ${trigger_id}::uuid and outcome = 'waiting' and strpos(reason, ${ROOM}) > 0
    order by delivery_id limit 1`.execute(trx)
  return rows[0]?.reason ?? null
}

/** Whether more waits than may for the triggers of whoever saved this one last. */
export async function isWaitingFull(trx: Db, trigger_id: string): Promise<boolean> {
  const { rows } = await sql<{ full: boolean }>`
    select count(*) > ${BUDGETS.waiting_deliveries.most}::int
      or coalesce(sum(pg_column_size(headers) + pg_column_size(payload)), 0) > ${BUDGETS.waiting_bodies.most}::int as full
    from trigger_deliveries where outcome = 'waiting' and trigger_id in (
      select trigger_id from triggers where editor_id = (select editor_id from triggers where trigger_id = ${trigger_id}::uuid))`.execute(
    trx,
  )
  return rows[0]?.full ?? false
}

/** Whether a delivery waits to be tried again. */
export const DELIVERY_WAITS = sql<boolean>`exists (select from trigger_deliveries where outcome = 'waiting')`

/** Deliveries to be tried again: the oldest of some triggers, of others each time. */
export async function findWaiting(db: Db): Promise<Array<{ delivery_id: string; trigger_id: string }>> {
  const { rows } = await sql<{ delivery_id: string; trigger_id: string }>`
    select d.delivery_id, t.trigger_id from (
      select trigger_id from (select distinct trigger_id from trigger_deliveries where outcome = 'waiting') all_waiting
      join triggers using (trigger_id)
      order by row_number() over (partition by editor_id order by random()), random() limit ${TRIGGERS_AT_ONCE}::int) t
    cross join lateral (
      select delivery_id from trigger_deliveries where trigger_id = t.trigger_id and outcome = 'waiting'
      order by delivery_id limit ${WAITING_AT_ONCE}::int) d`.execute(db)
  return rows
}

/** One that waits, with what was sent, locked until the end of the transaction; `null` when another process has it. */
export async function lockWaiting(
  trx: Db,
  delivery_id: string,
): Promise<(TriggerDeliveryRow & KeptPayload & { is_expired: boolean }) | null> {
  const { rows } = await sql<TriggerDeliveryRow & KeptPayload & { is_expired: boolean }>`
    select ${COLUMNS}, headers, payload, received_at < clock_timestamp() - ${WAITS} as is_expired
    from trigger_deliveries where delivery_id = ${delivery_id}::uuid and outcome = 'waiting'
    for update skip locked`.execute(trx)
  return rows[0] ?? null
}

/** With what was sent. Whoever asks has found the trigger. */
export async function readDelivery(
  db: Db,
  trigger_id: string,
  delivery_id: string,
): Promise<(TriggerDeliveryRow & KeptPayload) | null> {
  if (!isUuid(delivery_id)) return null
  const { rows } = await sql<TriggerDeliveryRow & KeptPayload>`
    select ${COLUMNS}, headers, payload from trigger_deliveries
    where delivery_id = ${delivery_id}::uuid and trigger_id = ${trigger_id}::uuid`.execute(db)
  return rows[0] ?? null
}

/** The newest that a sender sent, with what was sent. Whoever asks has found the trigger. */
export async function readNewest(
  db: Db,
  trigger_id: string,
  limit: number,
): Promise<Array<TriggerDeliveryRow & KeptPayload>> {
  const { rows } = await sql<TriggerDeliveryRow & KeptPayload>`
    select ${COLUMNS}, headers, payload from trigger_deliveries
    where trigger_id = ${trigger_id}::uuid and replay_of is null order by delivery_id desc limit ${limit}::int`.execute(
    db,
  )
  return rows
}

/** One page, the newest first. Whoever asks has found the trigger. */
export async function listTriggerDeliveries(
  db: Db,
  trigger_id: string,
  { limit = 50, cursor, outcome }: ListTriggerDeliveriesQuery,
): Promise<{ deliveries: ListedTriggerDelivery[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : readPosition(cursor)
  const { rows } = await sql<ListedTriggerDelivery>`
    select ${COLUMNS}, (select jsonb_build_object('status', p.status, 'comment_url', p.comment_url, 'error', p.error)
      from trigger_replies p where p.delivery_id = trigger_deliveries.delivery_id) as reply from trigger_deliveries where trigger_id = ${trigger_id}::uuid
      ${outcome ? sql`and outcome = ${outcome}` : sql``} ${before === null ? sql`` : sql`and delivery_id < ${before}::uuid`}
    order by delivery_id desc limit ${limit + 1}::int`.execute(db)
  const deliveries = rows.slice(0, limit)
  const last = deliveries.at(-1)
  return { deliveries, next_cursor: rows.length > limit && last ? encodeCursor([last.delivery_id]) : null }
}

function readPosition(cursor: string): string {
  const [delivery_id] = decodeCursor(cursor, 1)
  if (typeof delivery_id !== 'string' || !isUuid(delivery_id)) throw brokenCursor()
  return delivery_id
}

/** Those of more than a month ago, and the payloads of filtered ones of more than a day ago. In parts: each may have 2 MiB. */
export async function removeOldTriggerDeliveries(db: Db): Promise<void> {
  await repeatInParts(EMPTIED_AT_ONCE, async () => {
    const { numAffectedRows } = await sql`
      update trigger_deliveries set headers = '{}', payload = 'null' where ctid = any(array(
        select ctid from trigger_deliveries where outcome = 'filtered' and received_at < clock_timestamp() - ${KEPT_FILTERED}
          and payload <> 'null'
        limit ${EMPTIED_AT_ONCE}::int))`.execute(db)
    return numAffectedRows
  })
  await removeInParts(db, 'trigger_deliveries', sql`received_at < clock_timestamp() - ${KEPT}`)
}
