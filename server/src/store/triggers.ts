import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { BudgetLimits, OutputSchema, RunAgentRequest } from '../contract/run-request.ts'
import type {
  ListTriggersQuery,
  OnOpenRun,
  TriggerOutcome,
  TriggerReply,
  TriggerVerification,
} from '../contract/trigger.ts'
import { brokenCursor, decodeCursor, encodeCursor, isPlainText } from './cursor.ts'
import { type Db, transact } from './db.ts'
import { cutPage, isFollowed, type Paged } from './page.ts'
import { json } from './storable.ts'

/** What its runs are to be, and when there is one. */
export interface TriggerTemplate {
  name: string
  verification: TriggerVerification
  filter: string | null
  on_open_run: OnOpenRun
  prompt: string
  title: string | null
  mode: RunAgentRequest['mode'] | null
  config: AmbientAgentConfig
  metadata: Record<string, string>
  priority: number | null
  budget: BudgetLimits | null
  output_schema: OutputSchema | null
  /** The identity that executes its runs. */
  agent_uid: string | null
  /** How it answers on GitHub. */
  reply: TriggerReply | null
}

/** What a caller writes of a trigger. */
export interface TriggerContent extends TriggerTemplate {
  /** Encrypted: what senders sign with, and values that `config` shows as `***`. */
  sealed: Uint8Array
  enabled: boolean
}

/** As it is stored. */
export interface TriggerRow extends TriggerContent {
  trigger_id: string
  scope: 'User' | 'Team'
  created_at: Date
  updated_at: Date
  creator: RunCreatorInfo
  editor: RunCreatorInfo
  /** Nothing is done as somebody who is disabled. */
  editor_disabled: boolean
}

/** With the newest that came to it, of the 30 days that are kept. */
export interface ListedTrigger extends TriggerRow {
  last_delivery: { received_at: string; outcome: TriggerOutcome; run_id: string | null } | null
}

const WRITTEN = [
  ...['name', 'verification', 'filter', 'on_open_run', 'prompt', 'title', 'mode', 'config', 'metadata'],
  ...['priority', 'budget', 'output_schema', 'agent_uid', 'reply', 'sealed', 'enabled'],
]
const COLUMNS = ['trigger_id', 'scope', 'created_at', 'updated_at', ...WRITTEN]
const person = (alias: string): RawBuilder<unknown> =>
  sql`jsonb_build_object('uid', ${sql.ref(`${alias}.principal_id`)}, 'type', ${sql.ref(`${alias}.type`)},
    'display_name', ${sql.ref(`${alias}.display_name`)})`
const LISTED = sql`${sql.join(COLUMNS.map((column) => sql.ref(`t.${column}`)))},
  ${person('c')} as creator, ${person('e')} as editor, e.disabled as editor_disabled`
const PEOPLE = sql`join principals c on c.principal_id = t.creator_id join principals e on e.principal_id = t.editor_id`

/** Not asked for by what posts to it. */
const LAST_DELIVERY = sql`(
  select jsonb_build_object('received_at', d.received_at, 'outcome', d.outcome, 'run_id', d.run_id)
  from trigger_deliveries d where d.trigger_id = t.trigger_id order by d.delivery_id desc limit 1) as last_delivery`

/** Personal triggers are visible to their owner only. */
const visibleTo = ({ principal_id }: Pick<Actor, 'principal_id'>): RawBuilder<unknown> =>
  sql`(t.scope = 'Team' or t.creator_id = ${principal_id})`

const isNamed = (trigger_id: string, actor: Pick<Actor, 'principal_id'>): RawBuilder<unknown> =>
  isUuid(trigger_id) ? sql`t.trigger_id = ${trigger_id}::uuid and ${visibleTo(actor)}` : sql`false`

const written = (content: TriggerContent): Record<string, RawBuilder<unknown>> => ({
  name: sql`${content.name}`,
  verification: sql`${content.verification}`,
  filter: sql`${content.filter}`,
  on_open_run: sql`${content.on_open_run}`,
  prompt: sql`${content.prompt}`,
  title: sql`${content.title}`,
  mode: sql`${content.mode ?? null}::text`,
  config: json(content.config),
  metadata: json(content.metadata),
  priority: sql`${content.priority}::int`,
  budget: content.budget ? json(content.budget) : sql`null::jsonb`,
  output_schema: content.output_schema ? json(content.output_schema) : sql`null::jsonb`,
  agent_uid: sql`${content.agent_uid}::uuid`,
  reply: content.reply ? json(content.reply) : sql`null::jsonb`,
  sealed: sql`${content.sealed}::bytea`,
  enabled: sql`${content.enabled}::boolean`,
})

export async function insertTrigger(
  db: Db,
  {
    trigger_id,
    creator_id,
    scope,
    ...content
  }: TriggerContent & { trigger_id: string; creator_id: string; scope: 'User' | 'Team' },
): Promise<ListedTrigger> {
  const values = written(content)
  const { rows } = await sql<ListedTrigger>`
    with t as (
      insert into triggers (trigger_id, creator_id, editor_id, scope, ${sql.join(Object.keys(values).map((name) => sql.ref(name)))})
      values (${trigger_id}::uuid, ${creator_id}::uuid, ${creator_id}::uuid, ${scope}, ${sql.join(Object.values(values))})
      returning *)
    select ${LISTED}, ${LAST_DELIVERY} from t ${PEOPLE}`.execute(db)
  if (!rows[0]) throw new Error('The trigger was not stored.')
  return rows[0]
}

/** `null` when there is none or the caller may not see it: the two look the same from outside. */
export async function findTrigger(
  db: Db,
  trigger_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<ListedTrigger | null> {
  const { rows } = await sql<ListedTrigger>`
    select ${LISTED}, ${LAST_DELIVERY} from triggers t ${PEOPLE} where ${isNamed(trigger_id, actor)}`.execute(
    db,
  )
  return rows[0] ?? null
}

const answering = (trigger_id: string): RawBuilder<unknown> =>
  sql`t.trigger_id = ${trigger_id}::uuid and t.enabled and not e.disabled`

/** For whoever posts to it; `null` when there is none, it is paused, or whoever saved it last is disabled. */
export async function findHook(db: Db, trigger_id: string): Promise<TriggerRow | null> {
  if (!isUuid(trigger_id)) return null
  const { rows } = await sql<TriggerRow>`
    select ${LISTED} from triggers t ${PEOPLE} where ${answering(trigger_id)}`.execute(db)
  return rows[0] ?? null
}

/** Keeps it from being deleted until the end of the transaction; false when it answers nothing any more. */
export async function holdHook(trx: Db, trigger_id: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from triggers t ${PEOPLE} where ${answering(trigger_id)} for key share of t`.execute(trx)
  return rows.length > 0
}

/**
 * Puts what `change` makes of a trigger in its place; `null` when there is none. `change` may wait for nothing but statements
 * of the transaction it is given.
 */
export async function replaceTrigger(
  db: Db,
  trigger_id: string,
  actor: Pick<Actor, 'principal_id'>,
  change: (trx: Db, trigger: TriggerRow) => Promise<TriggerContent>,
): Promise<ListedTrigger | null> {
  return transact(db, async (trx) => {
    const { rows } = await sql<TriggerRow>`
      select ${LISTED} from triggers t ${PEOPLE} where ${isNamed(trigger_id, actor)} for update of t`.execute(
      trx,
    )
    const [before] = rows
    if (!before) return null
    const values = { ...written(await change(trx, before)), editor_id: sql`${actor.principal_id}::uuid` }
    return update(trx, sql`t.trigger_id = ${trigger_id}::uuid`, values)
  })
}

/** Pauses it, or lets it go on; `null` when there is none. */
export const turnTrigger = (
  db: Db,
  trigger_id: string,
  actor: Pick<Actor, 'principal_id'>,
  enabled: boolean,
): Promise<ListedTrigger | null> =>
  update(db, isNamed(trigger_id, actor), { enabled: sql`${enabled}::boolean` })

async function update(
  db: Db,
  which: RawBuilder<unknown>,
  values: Record<string, RawBuilder<unknown>>,
): Promise<ListedTrigger | null> {
  const set = sql.join(Object.entries(values).map(([name, value]) => sql`${sql.ref(name)} = ${value}`))
  const { rows } = await sql<ListedTrigger>`
    with t as (
      update triggers t set ${set}, updated_at = next_update(updated_at) where ${which} returning *)
    select ${LISTED}, ${LAST_DELIVERY} from t ${PEOPLE}`.execute(db)
  return rows[0] ?? null
}

/** False when there is none. Its deliveries go with it; its runs stay. */
export async function deleteTrigger(
  db: Db,
  trigger_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<boolean> {
  const { rows } = await sql`
    delete from triggers t where ${isNamed(trigger_id, actor)} returning 1`.execute(db)
  return rows.length > 0
}

/** One page by name, as people sort names: without regard to case. */
export async function listTriggers(
  db: Db,
  { limit = 50, cursor }: ListTriggersQuery,
  actor: Pick<Actor, 'principal_id'>,
): Promise<{ triggers: ListedTrigger[]; next_cursor: string | null }> {
  const position = cursor === undefined ? null : readPosition(cursor)
  const beyond = position
    ? sql`and (lower(t.name) collate "C", t.trigger_id) > (${position.name}::text, ${position.trigger_id}::uuid)`
    : sql``
  const page = cutPage(
    sql`select * from (select ${LISTED}, ${LAST_DELIVERY}, lower(t.name) as sort_name from triggers t ${PEOPLE}
      where ${visibleTo(actor)} ${beyond}) r`,
    {
      order: sql`r.sort_name collate "C", r.trigger_id`,
      bytes: sql`octet_length(r.config::text) + octet_length(r.prompt) + coalesce(octet_length(r.output_schema::text), 0)`,
      limit,
    },
  )
  const { rows: triggers } = await sql<ListedTrigger & Paged & { sort_name: string }>`${page}`.execute(db)
  const last = triggers.at(-1)
  const more = isFollowed(triggers) && last
  return { triggers, next_cursor: more ? encodeCursor([last.sort_name, last.trigger_id]) : null }
}

function readPosition(cursor: string): { name: string; trigger_id: string } {
  const [name, trigger_id] = decodeCursor(cursor, 2)
  if (!isPlainText(name) || typeof trigger_id !== 'string' || !isUuid(trigger_id)) throw brokenCursor()
  return { name, trigger_id }
}
