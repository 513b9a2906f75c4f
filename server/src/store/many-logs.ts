import { type RawBuilder, sql } from 'kysely'
import type { RunEvent } from '../contract/event.ts'
import type { Db } from './db.ts'
import { type EventRow, type OpenMessage, toRunEvent } from './events.ts'
import { visibleTo } from './runs.ts'
import { SETTLED } from './sql-fragments.ts'
import { json } from './storable.ts'

/** Runs that are followed together, as far as their reader may see them. */
export interface Followed {
  run_ids: readonly string[]
  /** Those below it, whenever they appear. */
  ancestor_run_id: string | null
  principal_id: string
}

/** The ones named, the ones below the ancestor, and the ancestor itself, whose end says that none follow. */
const isFollowed = ({ run_ids, ancestor_run_id, principal_id }: Followed): RawBuilder<unknown> => sql`
  r.run_id in (
    select unnest(${[...run_ids, ...(ancestor_run_id === null ? [] : [ancestor_run_id])]}::uuid[])
    union select d.run_id from runs d where d.ancestor_run_ids @> array[${ancestor_run_id}]::uuid[]
      and d.parent_run_id is not null and ${ancestor_run_id}::uuid is not null)
  and ${visibleTo({ principal_id })}`

/** The ids of at most `most` of them, the ancestor among them. */
export async function listFollowed(db: Db, followed: Followed, most: number): Promise<string[]> {
  const found = await sql<{ run_id: string }>`
    select r.run_id from runs r where ${isFollowed(followed)} limit ${most}::int`.execute(db)
  return found.rows.map(({ run_id }) => run_id)
}

/** How one of the logs stands. */
export interface LogState {
  run_id: string
  last_sequence: number
  /** The run has ended and its worker has let go. */
  settled: boolean
  /** Its events are wanted; not those of an ancestor that was not named. */
  shown: boolean
  /** What its reader had before this page. */
  after: number
  /** Texts on their way. */
  open: OpenMessage[]
}

export interface LogsPage {
  logs: LogState[]
  /** Of each run a beginning of what is new, so that none is passed over however commits overlap. */
  events: RunEvent[]
}

interface PageSize {
  limit: number
  bytes: number
}

type Row = Omit<LogState, 'open'> & { open: OpenMessage[] | null } & (
    | (EventRow & { event_run_id: string })
    | { [K in keyof Omit<EventRow, 'run_id'>]: null }
  )

/**
 * What is new in many logs, merged by time: at most `limit` events, and no more than begin within `bytes`, so that one always
 * fits. `places` are the last sequences its reader has, by the end of the run's id (`right(run_id::text, 17)`); a log that is
 * not in it is read from the moment `since` on, or from its start. One statement, so one snapshot, however many runs.
 */
export async function readLogs(
  db: Db,
  followed: Followed,
  places: ReadonlyMap<string, number>,
  since: string | null,
  { limit, bytes }: PageSize,
): Promise<LogsPage> {
  const known = [...places].map(([tail, sequence]) => ({ tail, sequence }))
  const found = await sql<Row>`
    with logs as materialized (
      select r.run_id, r.last_sequence, ${SETTLED} as settled,
        r.run_id is distinct from ${followed.ancestor_run_id}::uuid or r.run_id = any(${[...followed.run_ids]}::uuid[]) as shown,
        coalesce(p.sequence, (select e.sequence from events e where e.run_id = r.run_id and e.occurred_at <= ${since}::timestamptz
          order by e.sequence desc limit 1), 0) as after
      from runs r left join jsonb_to_recordset(${json(known)}) p (tail text, sequence int) on p.tail = right(r.run_id::text, 17)
      where ${isFollowed(followed)}),
    -- A clock that was set back must not put events of one run into another order.
    news as (
      select e.run_id, e.sequence, e.bytes, max(e.occurred_at) over (partition by e.run_id order by e.sequence) as moment
      from logs l cross join lateral (
        select run_id, sequence, bytes, occurred_at from events
        where run_id = l.run_id and sequence > l.after order by sequence limit ${limit}::int) e
      where l.shown and l.last_sequence > l.after),
    page as (
      select * from (
        select *, sum(bytes) over (order by moment, run_id, sequence) - bytes as bytes_before
        from news order by moment, run_id, sequence limit ${limit}::int) n
      where bytes_before < ${bytes}::int)
    select l.*, e.sequence, e.type, e.data, e.occurred_at,
      case when row_number() over (partition by l.run_id order by p.sequence) = 1 and not l.settled and l.shown then (
        select jsonb_agg(jsonb_build_object('message_id', m.message_id, 'text', m.text) order by m.message_id)
        from open_messages m where m.run_id = l.run_id) end as open
    from logs l left join page p on p.run_id = l.run_id
      left join events e on e.run_id = p.run_id and e.sequence = p.sequence
    order by p.moment, l.run_id, p.sequence`.execute(db)
  const logs = new Map<string, LogState>()
  const events: RunEvent[] = []
  for (const { run_id, last_sequence, settled, shown, after, open, ...event } of found.rows) {
    const log = logs.get(run_id) ?? { run_id, last_sequence, settled, shown, after, open: [] }
    if (open) log.open = open
    logs.set(run_id, log)
    if (event.sequence !== null) events.push(toRunEvent({ run_id, ...event }))
  }
  return { logs: [...logs.values()], events }
}

/** A place in a log, and what comes after it. */
export interface LogTail {
  run_id: string
  after: number
  events: RunEvent[]
  /** The log already holds events after these. */
  has_more: boolean
  last_sequence: number
  settled: boolean
  /** Texts on their way. */
  open: OpenMessage[]
}

type TailRow = Pick<LogTail, 'run_id' | 'after' | 'last_sequence' | 'settled'> & {
  open: OpenMessage[] | null
} & (Omit<EventRow, 'run_id'> | { [K in keyof Omit<EventRow, 'run_id'>]: null })

/** What comes after each of these places, `limit` events of each and no more than begin within `bytes`. One statement. */
export async function readTails(
  db: Db,
  places: ReadonlyArray<{ run_id: string; after: number }>,
  { limit, bytes }: PageSize,
): Promise<LogTail[]> {
  const found = await sql<TailRow>`
    with logs as materialized (
      select r.run_id, p.after, r.last_sequence, ${SETTLED} as settled
      from jsonb_to_recordset(${json(places)}) p (run_id uuid, after int) join runs r using (run_id))
    select l.*, e.sequence, e.type, e.data, e.occurred_at,
      case when row_number() over (partition by l.run_id, l.after order by e.sequence) = 1 and not l.settled then (
        select jsonb_agg(jsonb_build_object('message_id', m.message_id, 'text', m.text) order by m.message_id)
        from open_messages m where m.run_id = l.run_id) end as open
    from logs l left join lateral (
      select * from (
        select *, sum(bytes) over (order by sequence) - bytes as bytes_before from events
        where run_id = l.run_id and sequence > l.after order by sequence limit ${limit}::int) page
      where bytes_before < ${bytes}::int) e on true
    order by l.run_id, l.after, e.sequence`.execute(db)
  const tails = new Map<string, LogTail>()
  for (const { run_id, after, last_sequence, settled, open, ...event } of found.rows) {
    const key = `${run_id} ${after}`
    const tail = tails.get(key) ?? {
      ...{ run_id, after, last_sequence, settled },
      ...{ events: [], has_more: false, open: [] },
    }
    if (open) tail.open = open
    if (event.sequence !== null) {
      tail.events.push(toRunEvent({ run_id, ...event }))
      tail.has_more = event.sequence < last_sequence
    }
    tails.set(key, tail)
  }
  return [...tails.values()]
}
