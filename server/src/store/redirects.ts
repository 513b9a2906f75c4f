import { sql } from 'kysely'
import type { Db } from './db.ts'
import { AT_WORK, SETTLED } from './sql-fragments.ts'

/** The conversation of a session that is over: its run has ended. Of runs of the team alone, since anybody may ask. */
export async function findEndedConversation(db: Db, session_id: string): Promise<string | null> {
  const found = await sql<{ conversation_id: string }>`
    select conversation_id from runs r where run_id = ${session_id}::uuid and scope = 'Team' and ${SETTLED}`.execute(
    db,
  )
  return found.rows[0]?.conversation_id ?? null
}

/** The session at work of a conversation, the newest; of runs of the team alone. */
export async function findLiveSession(db: Db, conversation_id: string): Promise<string | null> {
  const found = await sql<{ run_id: string }>`
    select run_id from runs where conversation_id = ${conversation_id}::uuid and scope = 'Team'
      and ${AT_WORK} order by run_id desc limit 1`.execute(db)
  return found.rows[0]?.run_id ?? null
}
