import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { BUDGETS } from '../budgets/budgets.ts'
import type { Actor } from '../contract/actor.ts'
import { activeKey } from './api-keys.ts'
import type { Db } from './db.ts'
import { hashOfToken, makeOpaqueToken } from './opaque-token.ts'
import { removeInParts } from './remove-in-parts.ts'
import { visibleTo } from './runs.ts'

const LIFETIME = sql`clock_timestamp() + interval '12 hours'`

/** What opens a run to visitors: a share link or the key of a `session_link`, and whose it is. */
export type VisitLink = { principal_id: string } & (
  | { share_link_id: string; key_id: null }
  | { share_link_id: null; key_id: string }
)

/** The share link of this run that has the token; `null` when there is none, or it is over. */
export async function findVisitLink(db: Db, run_id: string, link_token: string): Promise<VisitLink | null> {
  const found = await sql<{ share_link_id: string; principal_id: string }>`
    update share_links s set last_used_at = date_trunc('milliseconds', clock_timestamp())
    where s.token_hash = ${hashOfToken(link_token)} and s.run_id = ${run_id}::uuid
      and coalesce(s.expires_at > clock_timestamp(), true)
    returning s.share_link_id, s.created_by as principal_id`.execute(db)
  const [link] = found.rows
  return link ? { ...link, key_id: null } : null
}

/**
 * Begins a visit, which ends with its link or key at the latest, or when many others have begun after it. Rows that another
 * request removes at the same moment are left to it: two that wait for each other would be a deadlock.
 */
export async function visit(
  db: Db,
  run_id: string,
  { share_link_id, key_id }: Pick<VisitLink, 'share_link_id' | 'key_id'>,
): Promise<string> {
  const { token, token_hash } = makeOpaqueToken()
  await sql`
    with excess as (
      delete from visits where visit_id in (
        select visit_id from visits where run_id = ${run_id}::uuid
          and share_link_id is not distinct from ${share_link_id}::uuid and key_id is not distinct from ${key_id}::uuid
        order by visit_id desc offset ${BUDGETS.kept_visits.most - 1}::int for update skip locked))
    insert into visits (visit_id, token_hash, run_id, share_link_id, key_id, expires_at)
    select ${uuidv7()}::uuid, ${token_hash}::bytea, ${run_id}::uuid, ${share_link_id}::uuid, ${key_id}::uuid, ${LIFETIME}
    where ${share_link_id}::uuid is null or exists (select from share_links where share_link_id = ${share_link_id}::uuid)`.execute(
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

/** Who visits a run with this token: a viewer of that run alone. `null` when it is not known or over, or of another link. */
export async function findVisitor(
  db: Db,
  run_id: string,
  token: string,
  link?: Pick<VisitLink, 'share_link_id' | 'key_id'>,
): Promise<Actor | null> {
  const of_link = link
    ? sql`and v.share_link_id is not distinct from ${link.share_link_id}::uuid and v.key_id is not distinct from ${link.key_id}::uuid`
    : sql``
  const found = await sql<Found>`
    ${VISITING} and v.token_hash = ${hashOfToken(token)} and v.run_id = ${run_id}::uuid ${of_link}`.execute(
    db,
  )
  return toVisitor(found.rows[0])
}

/** The same by the id of the visit, which links that are made for a visitor carry in place of a key's. */
export async function readVisitor(db: Db, visit_id: string): Promise<Actor | null> {
  const found = await sql<Found>`${VISITING} and v.visit_id = ${visit_id}::uuid`.execute(db)
  return toVisitor(found.rows[0])
}

const toVisitor = (found: Found | undefined): Actor | null => (found ? { ...found, role: 'viewer' } : null)

export const removeOldVisits = (db: Db): Promise<void> =>
  removeInParts(db, 'visits', sql`expires_at < clock_timestamp()`)
