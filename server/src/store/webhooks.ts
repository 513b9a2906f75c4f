import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { ListWebhooksQuery, WebhookEventType, WebhookFormat } from '../contract/webhook.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import type { Db } from './db.ts'

export interface WebhookRow {
  webhook_id: string
  scope: 'User' | 'Team'
  url: string
  events: WebhookEventType[]
  format: WebhookFormat
  description: string | null
  enabled: boolean
  disabled_reason: string | null
  failing_since: Date | null
  created_at: Date
  updated_at: Date
  creator: RunCreatorInfo
  /** The name of who gave it its address, or enabled it again. */
  set_up_by: string
  /** Then nothing is sent. */
  creator_disabled: boolean
  /** For the webhook's id: `current`, and for a day after a rotation `previous`. */
  sealed: Uint8Array
}

/** What its owner says of it, whole. */
export interface WebhookContent {
  url: string
  events: WebhookEventType[]
  format: WebhookFormat
  description: string | null
  enabled: boolean
}

export interface NewWebhook extends WebhookContent {
  webhook_id: string
  scope: 'User' | 'Team'
  creator_id: string
  sealed: Buffer
}

const COLUMNS = sql`w.webhook_id, w.scope, w.url, w.events, w.format, w.description, w.enabled, w.disabled_reason, w.failing_since,
  w.created_at, w.updated_at, w.sealed, p.disabled as creator_disabled,
  e.display_name as set_up_by, jsonb_build_object('uid', p.principal_id, 'type', p.type, 'display_name', p.display_name) as creator`
/** Each is looked at with every change of a run. */
const MOST = 50

const PEOPLE = sql`join principals p on p.principal_id = w.creator_id join principals e on e.principal_id = w.editor_id`

/** Personal ones are their creator's alone. */
const seenBy = ({ principal_id }: Pick<Actor, 'principal_id'>): RawBuilder<boolean> =>
  sql<boolean>`(w.scope = 'Team' or w.creator_id = ${principal_id}::uuid)`

/** Throws `conflict` when the team, or the person, has as many as there may be. */
export async function insertWebhook(db: Db, webhook: NewWebhook): Promise<WebhookRow> {
  const { rows } = await sql<WebhookRow>`
    with w as (
      insert into webhooks (webhook_id, scope, creator_id, editor_id, url, events, format, description, enabled, sealed)
      select ${webhook.webhook_id}::uuid, ${webhook.scope}::text, ${webhook.creator_id}::uuid, ${webhook.creator_id}::uuid, ${webhook.url}::text,
        ${webhook.events}::text[], ${webhook.format}, ${webhook.description}::text, ${webhook.enabled}::boolean, ${webhook.sealed}::bytea
      where (select count(*) from webhooks o where o.scope = ${webhook.scope}
        and (o.scope = 'Team' or o.creator_id = ${webhook.creator_id}::uuid)) < ${MOST}::int
      returning *)
    select ${COLUMNS} from w ${PEOPLE}`.execute(db)
  if (!rows[0])
    throw new AppError('conflict', `There are ${MOST} webhooks, which is the most: delete one first.`, {
      retryable: false,
    })
  return rows[0]
}

/** `null` when there is none or the caller may not see it. */
export async function findWebhook(
  db: Db,
  webhook_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<WebhookRow | null> {
  if (!isUuid(webhook_id)) return null
  const { rows } = await sql<WebhookRow>`
    select ${COLUMNS} from webhooks w ${PEOPLE}
    where w.webhook_id = ${webhook_id}::uuid and ${seenBy(actor)}`.execute(db)
  return rows[0] ?? null
}

/** Enabling it forgets that it failed. `null` as with `findWebhook`. */
export async function updateWebhook(
  db: Db,
  webhook_id: string,
  actor: Pick<Actor, 'principal_id'>,
  content: WebhookContent,
): Promise<WebhookRow | null> {
  if (!isUuid(webhook_id)) return null
  const { rows } = await sql<WebhookRow>`
    with w as (
      update webhooks w set url = ${content.url}, events = ${content.events}::text[], format = ${content.format},
        description = ${content.description}::text, enabled = ${content.enabled}::boolean, disabled_reason = null,
        failing_since = case when w.enabled = ${content.enabled}::boolean and w.url = ${content.url} then w.failing_since end,
        editor_id = case when w.url = ${content.url} and (w.enabled or not ${content.enabled}::boolean) then w.editor_id
          else ${actor.principal_id}::uuid end,
        updated_at = next_update(w.updated_at)
      where w.webhook_id = ${webhook_id}::uuid and ${seenBy(actor)} returning *)
    select ${COLUMNS} from w ${PEOPLE}`.execute(db)
  return rows[0] ?? null
}

/** Changes what it signs with; false when it was changed meanwhile. */
export async function replaceWebhookSecret(
  db: Db,
  { webhook_id, sealed }: Pick<WebhookRow, 'webhook_id' | 'sealed'>,
  by: Buffer,
): Promise<boolean> {
  const done = await sql`
    update webhooks set sealed = ${by}::bytea, rotated_at = clock_timestamp(), updated_at = next_update(updated_at)
    where webhook_id = ${webhook_id}::uuid and sealed = ${Buffer.from(sealed)}::bytea returning 1`.execute(db)
  return done.rows.length > 0
}

/** As it was, with its deliveries; `null` as with `findWebhook`. */
export async function deleteWebhook(
  db: Db,
  webhook_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<WebhookRow | null> {
  if (!isUuid(webhook_id)) return null
  const { rows } = await sql<WebhookRow>`
    with w as (delete from webhooks w where w.webhook_id = ${webhook_id}::uuid and ${seenBy(actor)} returning *)
    select ${COLUMNS} from w ${PEOPLE}`.execute(db)
  return rows[0] ?? null
}

/** Newest first. */
export async function listWebhooks(
  db: Db,
  { limit = 50, cursor }: ListWebhooksQuery,
  actor: Pick<Actor, 'principal_id'>,
): Promise<{ webhooks: WebhookRow[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : readPosition(cursor)
  const { rows } = await sql<WebhookRow>`
    select ${COLUMNS} from webhooks w ${PEOPLE}
    where ${seenBy(actor)} ${before === null ? sql`` : sql`and w.webhook_id < ${before}::uuid`}
    order by w.webhook_id desc limit ${limit + 1}::int`.execute(db)
  const webhooks = rows.slice(0, limit)
  const last = webhooks.at(-1)
  return { webhooks, next_cursor: rows.length > limit && last ? encodeCursor([last.webhook_id]) : null }
}

function readPosition(cursor: string): string {
  const [id] = decodeCursor(cursor, 1)
  if (typeof id !== 'string' || !isUuid(id)) throw brokenCursor()
  return id
}
