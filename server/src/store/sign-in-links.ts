import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { readActor } from './api-keys.ts'
import type { Db } from './db.ts'
import { hashOfToken, makeOpaqueToken } from './opaque-token.ts'

const LIFETIME = sql`interval '60 seconds'`

/** Makes what signs a browser in with this key, once and within 60 s. The token is returned here and never again. */
export async function createSignInLink(db: Db, key_id: string): Promise<{ token: string; expires_at: Date }> {
  const { token, token_hash } = makeOpaqueToken()
  const made = await sql<{ expires_at: Date }>`
    insert into sign_in_links (token_hash, key_id, expires_at)
    values (${token_hash}, ${key_id}::uuid, date_trunc('milliseconds', clock_timestamp() + ${LIFETIME}))
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
export async function readSignInLink(db: Db, token: string): Promise<Actor | null> {
  const found = await sql<{ key_id: string }>`
    select key_id from sign_in_links where token_hash = ${hashOfToken(token)} and expires_at > clock_timestamp()`.execute(
    db,
  )
  const [row] = found.rows
  return row ? readActor(db, row.key_id) : null
}

export async function removeOldSignInLinks(db: Db): Promise<void> {
  await sql`delete from sign_in_links where expires_at < clock_timestamp()`.execute(db)
}
