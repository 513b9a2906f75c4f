import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
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

export interface DescendantRow {
  run_id: string
  parent_run_id: string
  title: string
  state: RunState
  created_at: Date
  conversation_id: string
  /** Its parent is of the conversation that was asked for. */
  is_child: boolean
}

/** The runs below those of a conversation, without more of the conversation itself, as far as the caller may see them; parents first. */
export async function listBelowConversation(
  db: Db,
  conversation_id: string,
  actor: Pick<Actor, 'principal_id'>,
  most: number,
): Promise<DescendantRow[]> {
  const found = await sql<DescendantRow>`
    with own as materialized (
      select r.run_id from runs r where r.conversation_id = ${conversation_id}::uuid and ${visibleTo(actor)})
    select r.run_id, r.parent_run_id, r.title, r.state, r.created_at, r.conversation_id,
      r.parent_run_id in (select run_id from own) as is_child
    from runs r
    where r.parent_run_id is not null and r.ancestor_run_ids && (select array_agg(run_id) from own)
      and r.conversation_id <> ${conversation_id}::uuid and ${visibleTo(actor)}
    order by r.run_id limit ${most}::int`.execute(db)
  return found.rows
}
