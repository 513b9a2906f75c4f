import { sql } from 'kysely'
import type { RunState, RunStatusMessage } from '../contract/state.ts'
import type { Db } from './db.ts'
import { visibleTo } from './runs.ts'

export interface ChildRow {
  run_id: string
  title: string
  state: RunState
  scope: 'User' | 'Team'
  status_message: RunStatusMessage | null
  started_at: Date | null
}

/** The newest children of a run that the principal may see, oldest first. */
export async function listChildren(
  db: Db,
  { run_id, principal_id }: { run_id: string; principal_id: string },
  most: number,
): Promise<ChildRow[]> {
  const found = await sql<ChildRow>`
    select run_id, title, state, scope, status_message, started_at from runs r
    where ancestor_run_ids @> array[${run_id}]::uuid[] and parent_run_id = ${run_id}::uuid
      and ${visibleTo({ principal_id })} order by run_id desc limit ${most}::int`.execute(db)
  return found.rows.reverse()
}

/** What the agent of a run said last. */
export async function readLastMessage(db: Db, run_id: string): Promise<string | null> {
  const found = await sql<{ text: string }>`
    select data->>'text' as text from events
    where run_id = ${run_id} and type = 'message.assistant' and data->>'text' <> ''
    order by sequence desc limit 1`.execute(db)
  return found.rows[0]?.text ?? null
}
