/**
 * What schedules do at their due times. A firing, the run that it creates and the schedule's next time are committed together,
 * by whoever holds the schedule's row: so no due time is lost, and none passes twice however many processes look.
 */
import { type RawBuilder, sql } from 'kysely'
import type { RunCreatorInfo } from '../contract/run.ts'
import type { FiringOutcome, ListFiringsQuery } from '../contract/schedule.ts'
import { UNFINISHED_STATES } from '../contract/state.ts'
import { brokenCursor, decodeCursor, encodeCursor, isMoment } from './cursor.ts'
import type { Db } from './db.ts'
import { person } from './runs.ts'
import type { ScheduleRow } from './schedules.ts'
import { among, now } from './sql-fragments.ts'

/** Of each schedule. */
const KEPT_FIRINGS = 500
const READ_AT_ONCE = 20

/** Of the database; tests have one of their own. */
export type Clock = RawBuilder<Date>

/** One that is locked to create a run. */
export interface FiringSchedule extends Omit<ScheduleRow, 'creator' | 'editor'> {
  editor_id: string
  editor_name: string
  editor_disabled: boolean
  now: Date
}

export interface DueSchedule extends FiringSchedule {
  next_run_at: Date
}

export interface FiringRow {
  due_at: Date
  fired_at: Date
  outcome: FiringOutcome
  run_id: string | null
  reason: string | null
  /** `null`: it was due. */
  asked_by: RunCreatorInfo | null
}

/** Whether a schedule is due. */
export const isDue = (clock: Clock): RawBuilder<boolean> =>
  sql`exists (select from schedules where next_run_at <= ${clock})`

/** Some schedules that are due, the longest first, and how long until another one is: `null` when none is waiting. */
export async function readDue(
  db: Db,
  clock: Clock,
  except: readonly string[] = [],
): Promise<{ schedule_ids: string[]; wait_ms: number | null }> {
  const { rows } = await sql<{ schedule_id: string; wait_ms: number }>`
    select schedule_id, (extract(epoch from next_run_at - ${clock}) * 1000)::double precision as wait_ms
    from schedules where next_run_at is not null and schedule_id <> all(${[...except]}::uuid[]) order by next_run_at limit ${READ_AT_ONCE}::int`.execute(
    db,
  )
  return {
    schedule_ids: rows.filter((row) => row.wait_ms <= 0).map((row) => row.schedule_id),
    wait_ms: rows.find((row) => row.wait_ms > 0)?.wait_ms ?? (rows.length === READ_AT_ONCE ? 0 : null),
  }
}

const named = (schedule_id: string, clock: Clock): RawBuilder<unknown> => sql`
  select s.*, p.display_name as editor_name, p.disabled as editor_disabled, ${clock} as now
  from schedules s join principals p on p.principal_id = s.editor_id where s.schedule_id = ${schedule_id}::uuid`

/** The schedule, locked until the end of the transaction; `null` when it is not due any more or another process has it. */
export async function lockDue(trx: Db, schedule_id: string, clock: Clock): Promise<DueSchedule | null> {
  const { rows } = await sql<DueSchedule>`
    ${named(schedule_id, clock)} and s.next_run_at <= ${clock} for update of s skip locked`.execute(trx)
  return rows[0] ?? null
}

/** The schedule, due or not and paused or not, once nobody else fires it; `null` when it is gone. */
export async function lockToRun(trx: Db, schedule_id: string): Promise<FiringSchedule | null> {
  const { rows } = await sql<FiringSchedule>`${named(schedule_id, now)} for update of s`.execute(trx)
  return rows[0] ?? null
}

/** Who asks for a firing now, and when: a time that is no whole second and that no firing has, since its time is its key. */
export async function findFiringTime(
  trx: Db,
  schedule_id: string,
  principal_id: string,
): Promise<Pick<FiringRow, 'due_at' | 'fired_at' | 'asked_by'>> {
  const { rows } = await sql<{ due_at: Date; fired_at: Date; asked_by: RunCreatorInfo }>`
    select n.at as fired_at, ${person('p')} as asked_by, (
      select t from generate_series(n.at, n.at + interval '1 second', interval '1 millisecond') t
      where t <> date_trunc('second', t)
        and not exists (select from schedule_firings f where f.schedule_id = ${schedule_id}::uuid and f.due_at = t)
      order by t limit 1) as due_at
    from principals p, (select ${now} as at) n where p.principal_id = ${principal_id}::uuid`.execute(trx)
  if (!rows[0]) throw new Error('Whoever asked for a run of a schedule is not there.')
  return rows[0]
}

/** An earlier run of the schedule that is not over; `null` when there is none. */
export async function findOpenRun(trx: Db, schedule_id: string): Promise<string | null> {
  const { rows } = await sql<{ run_id: string }>`
    select run_id from runs where schedule->>'schedule_id' = ${schedule_id} and schedule is not null
      and state in (${among(UNFINISHED_STATES)}) limit 1`.execute(trx)
  return rows[0]?.run_id ?? null
}

/** Keeps the newest firings only. False: this due time has passed already. */
export async function recordFiring(trx: Db, schedule_id: string, firing: FiringRow): Promise<boolean> {
  const { rows } = await sql`
    insert into schedule_firings (schedule_id, due_at, fired_at, outcome, run_id, reason, asked_by)
    values (${schedule_id}::uuid, ${firing.due_at.toISOString()}::timestamptz, ${firing.fired_at.toISOString()}::timestamptz,
      ${firing.outcome}, ${firing.run_id}::uuid, ${firing.reason}, ${firing.asked_by?.uid ?? null}::uuid)
    on conflict do nothing returning 1`.execute(trx)
  if (rows.length === 0) return false
  await sql`
    delete from schedule_firings where schedule_id = ${schedule_id}::uuid and due_at <= (
      select due_at from schedule_firings where schedule_id = ${schedule_id}::uuid
      order by due_at desc offset ${KEPT_FIRINGS}::int limit 1)`.execute(trx)
  return true
}

/** Sets what became of a firing and, after one that was due, the next time. Nobody's edit: `updated_at` stays. */
export async function advanceSchedule(
  trx: Db,
  schedule_id: string,
  { outcome, fired_at, reason }: FiringRow,
  next_run_at: Date | null = null,
): Promise<void> {
  const result =
    outcome === 'created'
      ? sql`, last_ran_at = ${fired_at.toISOString()}::timestamptz, last_spawn_error = null`
      : outcome === 'failed'
        ? sql`, last_spawn_error = ${reason}`
        : sql``
  await sql`
    update schedules set next_run_at = coalesce(${next_run_at?.toISOString() ?? null}::timestamptz, next_run_at) ${result}
    where schedule_id = ${schedule_id}::uuid`.execute(trx)
}

/** Why a schedule that stays due has no run yet. Nobody's edit: `updated_at` stays. */
export async function noteNoRoom(db: Db, schedule_id: string, reason: string): Promise<void> {
  await sql`
    update schedules set last_spawn_error = ${reason}
    where schedule_id = ${schedule_id}::uuid and last_spawn_error is distinct from ${reason}`.execute(db)
}

/** One page, the newest first. Whoever asks has found the schedule. */
export async function listFirings(
  db: Db,
  schedule_id: string,
  { limit = 20, cursor }: ListFiringsQuery,
): Promise<{ firings: FiringRow[]; next_cursor: string | null }> {
  const before = cursor === undefined ? null : readPosition(cursor)
  const { rows } = await sql<FiringRow>`
    select f.due_at, f.fired_at, f.outcome, f.run_id, f.reason,
      case when f.asked_by is null then null else ${person('p')} end as asked_by
    from schedule_firings f left join principals p on p.principal_id = f.asked_by
    where schedule_id = ${schedule_id}::uuid ${before === null ? sql`` : sql`and due_at < ${before}::timestamptz`}
    order by due_at desc limit ${limit + 1}::int`.execute(db)
  const firings = rows.slice(0, limit)
  const last = firings.at(-1)
  return {
    firings,
    next_cursor: rows.length > limit && last ? encodeCursor([last.due_at.toISOString()]) : null,
  }
}

function readPosition(cursor: string): string {
  const [due_at] = decodeCursor(cursor, 1)
  if (!isMoment(due_at)) throw brokenCursor()
  return due_at
}
