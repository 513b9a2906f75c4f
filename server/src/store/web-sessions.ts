import { sql } from 'kysely'
import { BUDGETS } from '../budgets/budgets.ts'
import type { Actor, Role } from '../contract/actor.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { activeKey, type FoundActor, toActor } from './api-keys.ts'
import type { Db } from './db.ts'
import { hashOfToken, makeOpaqueToken } from './opaque-token.ts'
import { removeInParts } from './remove-in-parts.ts'

const LIFETIME = sql`interval '12 hours'`

/** Who is signed in, by which key, and until when: never longer than the key works. */
export interface WebSession {
  actor: Actor
  principal_name: string
  principal_type: RunCreatorInfo['type']
  key_name: string
  expires_at: Date
}

/** Signs a browser in with a key; the token is returned here and never again. The principal's oldest sessions make room. */
export async function createWebSession(db: Db, key_id: string): Promise<string> {
  const { token, token_hash } = makeOpaqueToken()
  await sql`
    with excess as (
      delete from web_sessions where token_hash in (
        select s.token_hash from web_sessions s join api_keys k using (key_id)
        where k.principal_id = (select principal_id from api_keys where key_id = ${key_id}::uuid)
        order by s.created_at desc offset ${BUDGETS.web_sessions.most - 1}::int for update of s skip locked))
    insert into web_sessions (token_hash, key_id, expires_at)
    values (${token_hash}, ${key_id}::uuid, date_trunc('milliseconds', clock_timestamp() + ${LIFETIME}))`.execute(
    db,
  )
  return token
}

/** `null` when it was ended, its 12 hours are over, or its key does not work any more. */
export async function findWebSession(db: Db, token: string): Promise<WebSession | null> {
  const found = await sql<FoundActor & Omit<WebSession, 'actor'> & { role: Role }>`
    select k.principal_id, k.key_id, k.role, p.type = 'service_account' as is_identity, k.name as key_name,
      p.display_name as principal_name, p.type as principal_type,
      least(s.expires_at, k.expires_at, k.grace_until) as expires_at
    from web_sessions s join api_keys k using (key_id) join principals p using (principal_id)
    where s.token_hash = ${hashOfToken(token)} and s.expires_at > clock_timestamp() and ${activeKey}`.execute(
    db,
  )
  const [row] = found.rows
  if (!row) return null
  const { key_name, principal_name, principal_type, expires_at, ...actor } = row
  return { actor: toActor(actor), key_name, principal_name, principal_type, expires_at }
}

export async function removeWebSession(db: Db, token: string): Promise<void> {
  await sql`delete from web_sessions where token_hash = ${hashOfToken(token)}`.execute(db)
}

export const removeOldWebSessions = (db: Db): Promise<void> =>
  removeInParts(db, 'web_sessions', sql`expires_at < clock_timestamp()`)
