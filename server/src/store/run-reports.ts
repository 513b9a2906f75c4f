import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { RunEvent } from '../contract/event.ts'
import type { Db } from './db.ts'
import { type EventRow, toRunEvent } from './events.ts'
import { hasUrl } from './run-urls.ts'
import { visibleTo } from './runs.ts'

const ROWS = 1_000

/** The events of these types alone, in the order of the log, page after page. What calls were made with is left out. */
export async function* readEventsOf(
  db: Db,
  run_id: string,
  types: readonly RunEvent['type'][],
): AsyncGenerator<RunEvent[]> {
  for (let after = 0; ; ) {
    const { rows } = await sql<EventRow>`
      select run_id, sequence, type, occurred_at,
        case when type = 'tool.call' then data || '{"input": {}}' else data end as data
      from events where run_id = ${run_id} and sequence > ${after}::bigint and type = any(${[...types]}::text[])
      order by sequence limit ${ROWS}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    yield rows.map(toRunEvent)
    if (rows.length < ROWS) return
    after = last.sequence
  }
}

/** When its workers let go of the run, in the order in which they did. */
export async function readReleases(
  db: Db,
  run_id: string,
): Promise<Array<{ execution: number; attempt: number; released_at: Date }>> {
  const { rows } = await sql<{ execution: number; attempt: number; released_at: Date }>`
    select execution, attempt, released_at from run_releases where run_id = ${run_id} order by released_at`.execute(
    db,
  )
  return rows
}

/** The newest run that produced an address, of those that the caller may see; one that only found another's is the last choice. */
export async function findRunByUrl(db: Db, url: string, actor: Actor): Promise<string | null> {
  const { rows } = await sql<{ run_id: string }>`
    select r.run_id from runs r where ${hasUrl(url)} and ${visibleTo(actor)}
    order by exists (select 1 from pushes p where p.run_id = r.run_id and p.branch <> 'runyard/' || r.run_id::text
      and p.url = ${url}), r.run_id desc limit 1`.execute(db)
  return rows[0]?.run_id ?? null
}
