import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { MAX_PAGE } from '../contract/page-info.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { BudgetLimits, OutputSchema, RunAgentRequest } from '../contract/run-request.ts'
import type { CatchUp, ListSchedulesQuery, Overlap } from '../contract/schedule.ts'
import { brokenCursor, decodeCursor, encodeCursor, isPlainText } from './cursor.ts'
import { type Db, transact } from './db.ts'
import { cutPage, isFollowed, type Paged } from './page.ts'
import { person } from './runs.ts'
import { now } from './sql-fragments.ts'
import { json } from './storable.ts'

/** What its runs are to be. */
export interface ScheduleTemplate {
  name: string
  cron_schedule: string
  time_zone: string
  overlap: Overlap
  catch_up: CatchUp
  prompt: string
  mode: RunAgentRequest['mode'] | null
  config: AmbientAgentConfig
  metadata: Record<string, string>
  title: string | null
  priority: number | null
  budget: BudgetLimits | null
  output_schema: OutputSchema | null
  /** The identity that executes its runs. */
  agent_uid: string | null
}

/** What a caller writes of a schedule. */
export interface ScheduleContent extends ScheduleTemplate {
  /** Encrypted values that `config` shows as `***`. */
  sealed: Buffer | null
  /** `null`: it is paused. */
  next_run_at: Date | null
}

/** As callers see it, sealed values aside. */
export interface ListedSchedule extends ScheduleTemplate {
  schedule_id: string
  scope: 'User' | 'Team'
  next_run_at: Date | null
  last_ran_at: Date | null
  last_spawn_error: string | null
  created_at: Date
  updated_at: Date
  creator: RunCreatorInfo
  editor: RunCreatorInfo
}

export interface ScheduleRow extends ListedSchedule {
  sealed: Uint8Array | null
}

const COLUMNS = [
  ...[
    'schedule_id',
    'name',
    'cron_schedule',
    'time_zone',
    'overlap',
    'catch_up',
    'prompt',
    'mode',
    'config',
    'agent_uid',
  ],
  ...['title', 'priority', 'budget', 'output_schema'],
  ...['metadata', 'scope', 'next_run_at', 'last_ran_at', 'last_spawn_error', 'created_at', 'updated_at'],
]
const LISTED = sql`${sql.join(COLUMNS.map((column) => sql.ref(`s.${column}`)))},
  ${person('c')} as creator, ${person('e')} as editor`
const PEOPLE = sql`join principals c on c.principal_id = s.creator_id join principals e on e.principal_id = s.editor_id`

/** Personal schedules are visible to their owner only. */
const visibleTo = ({ principal_id }: Pick<Actor, 'principal_id'>): RawBuilder<unknown> =>
  sql`(s.scope = 'Team' or s.creator_id = ${principal_id})`

const isNamed = (schedule_id: string, actor: Pick<Actor, 'principal_id'>): RawBuilder<unknown> =>
  isUuid(schedule_id) ? sql`s.schedule_id = ${schedule_id}::uuid and ${visibleTo(actor)}` : sql`false`

const moment = (time: Date | null): RawBuilder<unknown> => sql`${time?.toISOString() ?? null}::timestamptz`

/** The present of the database, by which everything is due. */
export async function readNow(db: Db): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select ${now} as now`.execute(db)
  if (!rows[0]) throw new Error('The database did not say what time it is.')
  return rows[0].now
}

const written = (content: ScheduleContent): Record<string, RawBuilder<unknown>> => ({
  name: sql`${content.name}`,
  cron_schedule: sql`${content.cron_schedule}`,
  time_zone: sql`${content.time_zone}`,
  overlap: sql`${content.overlap}`,
  catch_up: sql`${content.catch_up}`,
  prompt: sql`${content.prompt}`,
  mode: sql`${content.mode ?? null}::text`,
  config: json(content.config),
  sealed: sql`${content.sealed}::bytea`,
  metadata: json(content.metadata),
  title: sql`${content.title}`,
  priority: sql`${content.priority}::int`,
  budget: content.budget ? json(content.budget) : sql`null::jsonb`,
  output_schema: content.output_schema ? json(content.output_schema) : sql`null::jsonb`,
  agent_uid: sql`${content.agent_uid}::uuid`,
  next_run_at: moment(content.next_run_at),
})

export async function insertSchedule(
  db: Db,
  {
    schedule_id,
    creator_id,
    scope,
    ...content
  }: ScheduleContent & { schedule_id: string; creator_id: string; scope: 'User' | 'Team' },
): Promise<ListedSchedule> {
  const values = written(content)
  const { rows } = await sql<ListedSchedule>`
    with s as (
      insert into schedules (schedule_id, creator_id, editor_id, scope, ${sql.join(Object.keys(values).map((name) => sql.ref(name)))})
      values (${schedule_id}::uuid, ${creator_id}::uuid, ${creator_id}::uuid, ${scope}, ${sql.join(Object.values(values))})
      returning *)
    select ${LISTED} from s ${PEOPLE}`.execute(db)
  if (!rows[0]) throw new Error('The schedule was not stored.')
  return rows[0]
}

/** `null` when there is none or the caller may not see it: the two look the same from outside. */
export async function findSchedule(
  db: Db,
  schedule_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<ListedSchedule | null> {
  const { rows } = await sql<ListedSchedule>`
    select ${LISTED} from schedules s ${PEOPLE} where ${isNamed(schedule_id, actor)}`.execute(db)
  return rows[0] ?? null
}

/**
 * Puts what `change` makes of a schedule in its place; `null` when there is none. Nothing fires it meanwhile. `change` may wait
 * for nothing but statements of the transaction it is given.
 */
export async function replaceSchedule(
  db: Db,
  schedule_id: string,
  actor: Pick<Actor, 'principal_id'>,
  change: (trx: Db, schedule: ScheduleRow, now: Date) => Promise<ScheduleContent>,
): Promise<ListedSchedule | null> {
  return transact(db, async (trx) => {
    const before = await lockSchedule(trx, schedule_id, actor)
    if (!before) return null
    const values = written(await change(trx, before, await readNow(trx)))
    return update(trx, before.schedule_id, { ...values, editor_id: sql`${actor.principal_id}::uuid` })
  })
}

/** Pauses it, or lets it go on with the time that `next` says; one that goes on already stays as it is. `null`: there is none. */
export async function turnSchedule(
  db: Db,
  schedule_id: string,
  actor: Pick<Actor, 'principal_id'>,
  next: ((schedule: ScheduleRow, now: Date) => Date) | null,
): Promise<ListedSchedule | null> {
  return transact(db, async (trx) => {
    const before = await lockSchedule(trx, schedule_id, actor)
    if (!before) return null
    if ((before.next_run_at === null) === (next === null)) return before
    return update(trx, before.schedule_id, {
      next_run_at: moment(next ? next(before, await readNow(trx)) : null),
    })
  })
}

async function lockSchedule(
  trx: Db,
  schedule_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<ScheduleRow | null> {
  const { rows } = await sql<ScheduleRow>`
    select ${LISTED}, s.sealed from schedules s ${PEOPLE} where ${isNamed(schedule_id, actor)} for update of s`.execute(
    trx,
  )
  return rows[0] ?? null
}

async function update(
  trx: Db,
  schedule_id: string,
  values: Record<string, RawBuilder<unknown>>,
): Promise<ListedSchedule | null> {
  const set = sql.join(Object.entries(values).map(([name, value]) => sql`${sql.ref(name)} = ${value}`))
  const { rows } = await sql<ListedSchedule>`
    with s as (
      update schedules set ${set}, updated_at = next_update(updated_at)
      where schedule_id = ${schedule_id}::uuid returning *)
    select ${LISTED} from s ${PEOPLE}`.execute(trx)
  return rows[0] ?? null
}

/** False when there is none. Its firings go with it; its runs stay. */
export async function deleteSchedule(
  db: Db,
  schedule_id: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<boolean> {
  const { rows } = await sql`
    delete from schedules s where ${isNamed(schedule_id, actor)} returning 1`.execute(db)
  return rows.length > 0
}

/** One page by name, as people sort names: without regard to case. */
export async function listSchedules(
  db: Db,
  { limit = MAX_PAGE, cursor }: ListSchedulesQuery,
  actor: Pick<Actor, 'principal_id'>,
): Promise<{ schedules: ListedSchedule[]; next_cursor: string | null }> {
  const position = cursor === undefined ? null : readPosition(cursor)
  const beyond = position
    ? sql`and (lower(s.name) collate "C", s.schedule_id) > (${position.name}::text, ${position.schedule_id}::uuid)`
    : sql``
  const page = cutPage(
    sql`select * from (select ${LISTED}, lower(s.name) as sort_name from schedules s ${PEOPLE}
      where ${visibleTo(actor)} ${beyond}) r`,
    {
      order: sql`r.sort_name collate "C", r.schedule_id`,
      bytes: sql`octet_length(r.config::text) + octet_length(r.prompt) + coalesce(octet_length(r.output_schema::text), 0)`,
      limit,
    },
  )
  const { rows: schedules } = await sql<ListedSchedule & Paged & { sort_name: string }>`${page}`.execute(db)
  const last = schedules.at(-1)
  const more = isFollowed(schedules) && last
  return { schedules, next_cursor: more ? encodeCursor([last.sort_name, last.schedule_id]) : null }
}

function readPosition(cursor: string): { name: string; schedule_id: string } {
  const [name, schedule_id] = decodeCursor(cursor, 2)
  if (!isPlainText(name) || typeof schedule_id !== 'string' || !isUuid(schedule_id)) throw brokenCursor()
  return { name, schedule_id }
}
