import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { OUTPUT_BYTES } from '../contract/conversation.ts'
import type { RunEvent } from '../contract/event.ts'
import type { Db } from './db.ts'
import { type EventRow, toRunEvent } from './events.ts'
import { cutPage, isFollowed, PAGE_BYTES, type Paged } from './page.ts'
import { type LogPart, visibleTo } from './runs.ts'
import { json } from './storable.ts'

const PAGE_ROWS = 10_000
const START: LogPart = { run_id: '00000000-0000-0000-0000-000000000000', sequence: 0 }

/** A part of a conversation. Whatever a call printed comes with its result, in whichever part it was printed. */
export interface ConversationPart {
  /** Run after run, oldest first. */
  events: RunEvent[]
  /**
   * What belongs to results among them and came before: the calls of an earlier part, and the end of the `tool.output` of
   * those that have no output of their own.
   */
  before: RunEvent[]
  has_more: boolean
}

/**
 * What of a conversation comes after this place, over all its runs that the caller may see: what begins within PAGE_BYTES
 * with its output, and at least one event.
 */
export async function readConversation(
  db: Db,
  conversation_id: string,
  actor: Actor,
  after: LogPart = START,
): Promise<ConversationPart> {
  const page = cutPage(
    // Runs in their order, and each log by itself: then no run is looked at that the page does not come to. (Of 630,000
    // events in 21 runs: 163 ms, where one join and sort took 410.) Messages are told where they are delivered.
    sql`select * from (
      select r.run_id, e.sequence, e.bytes from (
        select r.run_id, case when r.run_id = ${after.run_id} then ${after.sequence}::int else 0 end as after from runs r
        where r.conversation_id = ${conversation_id} and ${visibleTo(actor)} and r.run_id >= ${after.run_id}
        order by r.run_id offset 0) r
      cross join lateral (
        select sequence, bytes from events
        where run_id = r.run_id and sequence > r.after and type not in ('tool.output', 'setup.output', 'followup.accepted')
        order by sequence limit ${PAGE_ROWS + 1}) e) r`,
    { order: sql`r.run_id, r.sequence`, bytes: sql`r.bytes`, limit: PAGE_ROWS },
  )
  const { rows } = await sql<EventRow & Paged>`
    select e.run_id, e.sequence, e.type, e.data, e.occurred_at, p.followed, p.bytes_before
    from (${page}) p join events e using (run_id, sequence) order by p.place`.execute(db)
  const events = rows.map(toRunEvent)
  const { printed, end } = await readPrinted(db, askOutputs(events, rows))
  const shown = events.slice(0, end)
  const calls = await readCalls(db, shown)
  return { events: shown, before: [...calls, ...printed], has_more: end !== undefined || isFollowed(rows) }
}

/** The calls of results whose calls are not among the events: a part rarely ends between the two. */
async function readCalls(db: Db, events: readonly RunEvent[]): Promise<RunEvent[]> {
  const called = new Set<string>()
  const asked = events.flatMap(({ run_id, type, data }) => {
    if (type === 'tool.call') called.add(`${run_id} ${data.tool_call_id}`)
    if (type !== 'tool.result' || called.has(`${run_id} ${data.tool_call_id}`)) return []
    return [{ run_id, tool_call_id: data.tool_call_id }]
  })
  if (asked.length === 0) return []
  const { rows } = await sql<EventRow>`
    select e.run_id, e.sequence, e.type, e.data, e.occurred_at
    from jsonb_to_recordset(${json(asked)}) a (run_id uuid, tool_call_id text)
    join events e on e.run_id = a.run_id and e.type = 'tool.call' and e.data->>'tool_call_id' = a.tool_call_id`.execute(
    db,
  )
  return rows.map(toRunEvent)
}

/** A result whose output is to be read, and where: between its call and itself. */
interface Asked {
  place: number
  run_id: string
  tool_call_id: string
  call: number
  result: number
  bytes_before: number
}

function askOutputs(events: readonly RunEvent[], rows: readonly Paged[]): Asked[] {
  const calls = new Map<string, number>()
  return events.flatMap((event, place): Asked[] => {
    const { run_id, sequence, type, data } = event
    if (type === 'tool.call') calls.set(`${run_id} ${data.tool_call_id}`, sequence)
    if (type !== 'tool.result' || data.output !== undefined) return []
    const { tool_call_id } = data
    // One that was made in an earlier part may be anywhere before.
    const call = calls.get(`${run_id} ${tool_call_id}`) ?? 0
    const bytes_before = rows[place]?.bytes_before ?? 0
    return [{ place, run_id, tool_call_id, call, result: sequence, bytes_before }]
  })
}

/** `end`: the place of the first result whose output does not fit any more. */
async function readPrinted(
  db: Db,
  asked: readonly Asked[],
): Promise<{ printed: RunEvent[]; end: number | undefined }> {
  if (asked.length === 0) return { printed: [], end: undefined }
  const { rows } = await sql<EventRow & { next_place: number | null }>`
    with printed as (
      select a.place, a.bytes_before, e.run_id, e.sequence, e.bytes, coalesce(sum(octet_length(e.data->>'text')) over (
        partition by a.place order by e.sequence desc rows between unbounded preceding and 1 preceding), 0) as later_bytes
      from jsonb_to_recordset(${json(asked)}) a
        (place int, run_id uuid, tool_call_id text, call int, result int, bytes_before double precision)
      join events e on e.run_id = a.run_id and e.sequence > a.call and e.sequence < a.result
        and e.type = 'tool.output' and e.data->>'tool_call_id' = a.tool_call_id),
    -- The last event of a call first: it fits in any case.
    ends as (
      select place, run_id, sequence, lead(place) over page as next_place, bytes_before + coalesce(
        sum(bytes) over (page rows between unbounded preceding and 1 preceding), 0) as bytes_before
      from printed where later_bytes <= ${OUTPUT_BYTES}::int window page as (order by place, sequence desc))
    select e.run_id, e.sequence, e.type, e.data, e.occurred_at, ends.next_place
    from ends join events e using (run_id, sequence) where ends.bytes_before < ${PAGE_BYTES}::int
    order by ends.place, e.sequence desc`.execute(db)
  return { printed: rows.map(toRunEvent).reverse(), end: rows.at(-1)?.next_place ?? undefined }
}
