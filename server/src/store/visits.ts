import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../contract/actor.ts'
import { activeKey } from './api-keys.ts'
import type { Db } from './db.ts'
import { hashOfToken, makeOpaqueToken } from './opaque-token.ts'
import { visibleTo } from './runs.ts'

const LIFETIME = sql`clock_timestamp() + interval '12 hours'`

/** Begins a visit with the token of a share link of this run; `null` when there is none, or it is over. */
export async function visitByShareLink(db: Db, run_id: string, link_token: string): Promise<string | null> {
  const { token, token_hash } = makeOpaqueToken()
  const begun = await sql`
    with link as (
      update share_links s set last_used_at = date_trunc('milliseconds', clock_timestamp())
      where s.token_hash = ${hashOfToken(link_token)} and s.run_id = ${run_id}::uuid
        and coalesce(s.expires_at > clock_timestamp(), true)
      returning s.share_link_id, s.run_id)
    insert into visits (visit_id, token_hash, run_id, share_link_id, expires_at)
    select ${uuidv7()}::uuid, ${token_hash}::bytea, run_id, share_link_id, ${LIFETIME} from link returning 1`.execute(
    db,
  )
  return begun.rows.length > 0 ? token : null
}

/** Begins a visit that ends with this key at the latest. */
export async function visitByKey(db: Db, run_id: string, key_id: string): Promise<string> {
  const { token, token_hash } = makeOpaqueToken()
  await sql`
    insert into visits (visit_id, token_hash, run_id, key_id, expires_at)
    values (${uuidv7()}::uuid, ${token_hash}::bytea, ${run_id}::uuid, ${key_id}::uuid, ${LIFETIME})`.execute(
    db,
  )
  return token
}

/**
 * A visit `v` that is not over: its link is there, or its key works and the run still says that its link opens it; and who gave
 * it out may see the run.
 */
const VISITING = sql`
  select v.visit_id as key_id, v.run_id as only_run_id, p.principal_id
  from visits v left join share_links s using (share_link_id) left join api_keys k on k.key_id = v.key_id
    join principals p on p.principal_id = coalesce(s.created_by, k.principal_id) join runs r on r.run_id = v.run_id
  where v.expires_at > clock_timestamp() and coalesce(s.expires_at > clock_timestamp(), true) and ${activeKey}
    and (k.key_id is null or r.config #>> '{session_sharing,public_access}' = 'VIEWER')
    and ${visibleTo({ principal_id: sql.ref('p.principal_id') })}`

interface Found {
  key_id: string
  only_run_id: string
  principal_id: string
}

/** Who visits a run with this token: a viewer of that run alone. `null` when it is not known or over. */
export async function findVisitor(db: Db, run_id: string, token: string): Promise<Actor | null> {
  const found = await sql<Found>`
    ${VISITING} and v.token_hash = ${hashOfToken(token)} and v.run_id = ${run_id}::uuid`.execute(db)
  return toVisitor(found.rows[0])
}

/** The same by the id of the visit, which links that are made for a visitor carry in place of a key's. */
export async function readVisitor(db: Db, visit_id: string): Promise<Actor | null> {
  const found = await sql<Found>`${VISITING} and v.visit_id = ${visit_id}::uuid`.execute(db)
  return toVisitor(found.rows[0])
}

const toVisitor = (found: Found | undefined): Actor | null => (found ? { ...found, role: 'viewer' } : null)

export async function removeOldVisits(db: Db): Promise<void> {
  await sql`delete from visits where expires_at < clock_timestamp()`.execute(db)
}
