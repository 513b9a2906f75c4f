import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { activeKey, HIGHEST_FIRST, readActor } from './api-keys.ts'
import type { Db } from './db.ts'
import { hashOfToken, makeOpaqueToken } from './opaque-token.ts'
import { removeInParts } from './remove-in-parts.ts'

/** Seconds. */
const OWN_LIFETIME = 60
/** It has to reach somebody. */
const GIVEN_LIFETIME = 24 * 3600

/** The key that a link for a person signs in with: the strongest that works, of these the newest. `null`: there is none. */
export async function findKeyToSignIn(db: Db, principal_id: string): Promise<string | null> {
  const found = await sql<{ key_id: string }>`
    select k.key_id from api_keys k join principals p using (principal_id)
    where k.principal_id = ${principal_id}::uuid and p.type = 'user' and k.pool is null and ${activeKey}
      and k.grace_until is null
    order by ${HIGHEST_FIRST}, k.key_id desc limit 1`.execute(db)
  return found.rows[0]?.key_id ?? null
}

/** Makes what signs a browser in with this key, once; `is_given`: for another person. The token is returned here and never again. */
export async function createSignInLink(
  db: Db,
  key_id: string,
  { is_given = false } = {},
): Promise<{ token: string; expires_at: Date }> {
  const { token, token_hash } = makeOpaqueToken()
  const made = await sql<{ expires_at: Date }>`
    insert into sign_in_links (token_hash, key_id, expires_at)
    values (${token_hash}, ${key_id}::uuid, date_trunc('milliseconds', clock_timestamp() + ${is_given ? GIVEN_LIFETIME : OWN_LIFETIME}::int * interval '1 second'))
    returning expires_at`.execute(db)
  const [row] = made.rows
  if (!row) throw new Error('The link just made is gone.')
  return { token, expires_at: row.expires_at }
}

/**
 * As whom it signs in. One statement takes the link away, so that of two at once one finds nothing. `null` when it is not known, was
 * used, its time is over, or its key does not work any more.
 */
export async function useSignInLink(db: Db, token: string): Promise<Actor | null> {
  const used = await sql<{ key_id: string; fresh: boolean }>`
    delete from sign_in_links where token_hash = ${hashOfToken(token)}
    returning key_id, expires_at > clock_timestamp() as fresh`.execute(db)
  const [row] = used.rows
  return row?.fresh ? readActor(db, row.key_id) : null
}

/** As whom it would sign in; it is not used up. */
export async function readSignInLink(
  db: Db,
  token: string,
): Promise<{ principal_id: string; principal_name: string | null } | null> {
  const found = await sql<{ principal_id: string; principal_name: string | null }>`
    select p.principal_id, p.display_name as principal_name
    from sign_in_links l join api_keys k using (key_id) join principals p using (principal_id)
    where l.token_hash = ${hashOfToken(token)} and l.expires_at > clock_timestamp()`.execute(db)
  return found.rows[0] ?? null
}

export const removeOldSignInLinks = (db: Db): Promise<void> =>
  removeInParts(db, 'sign_in_links', sql`expires_at < clock_timestamp()`)
