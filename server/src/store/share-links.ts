import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { RunCreatorInfo } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import type { ListShareLinksQuery } from '../contract/share-link.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import type { Db } from './db.ts'
import { makeOpaqueToken } from './opaque-token.ts'

const MOST_OF_A_RUN = 100

export interface ShareLinkRow {
  share_link_id: string
  run_id: string
  name: string | null
  created_at: Date
  created_by: string
  creator_name: string
  creator_type: RunCreatorInfo['type']
  expires_at: Date | null
  last_used_at: Date | null
}

const COLUMNS = sql`s.share_link_id, s.run_id, s.name, s.created_at, s.created_by, p.display_name as creator_name,
  p.type as creator_type, s.expires_at, s.last_used_at`

/** The token is returned here and never again. `null` when the run has as many links as it may. */
export async function createShareLink(
  db: Db,
  link: { run_id: string; created_by: string; name: string | null; expires_at: Date | null },
): Promise<{ token: string; link: ShareLinkRow } | null> {
  const { token, token_hash } = makeOpaqueToken()
  const made = await sql<ShareLinkRow>`
    with s as (
      insert into share_links (share_link_id, token_hash, run_id, created_by, name, expires_at)
      select ${uuidv7()}::uuid, ${token_hash}::bytea, ${link.run_id}::uuid, ${link.created_by}::uuid, ${link.name}::text,
        ${link.expires_at}::timestamptz
      where (select count(*) from share_links where run_id = ${link.run_id}::uuid) < ${MOST_OF_A_RUN}::int
      returning *)
    select ${COLUMNS} from s join principals p on p.principal_id = s.created_by`.execute(db)
  const [row] = made.rows
  return row ? { token, link: row } : null
}

/** Oldest first, those that are over as well. */
export async function listShareLinks(
  db: Db,
  run_id: string,
  { limit = 100, cursor }: ListShareLinksQuery,
): Promise<{ links: ShareLinkRow[]; next_cursor: string | null }> {
  const conditions = [sql`s.run_id = ${run_id}::uuid`]
  if (cursor !== undefined) {
    const [after] = decodeCursor(cursor, 1)
    if (typeof after !== 'string' || !isUuid(after)) throw brokenCursor()
    conditions.push(sql`s.share_link_id > ${after}::uuid`)
  }
  const { rows } = await sql<ShareLinkRow>`
    select ${COLUMNS} from share_links s join principals p on p.principal_id = s.created_by
    where ${sql.join(conditions, sql` and `)} order by s.share_link_id limit ${limit + 1}`.execute(db)
  const links = rows.slice(0, limit)
  const last = links.at(-1)
  return { links, next_cursor: last && rows.length > limit ? encodeCursor([last.share_link_id]) : null }
}

/** The link as it was; what was opened with it goes with it. `null` when the run has none with this id. */
export async function removeShareLink(
  db: Db,
  run_id: string,
  share_link_id: string,
): Promise<ShareLinkRow | null> {
  if (!isUuid(share_link_id)) return null
  const removed = await sql<ShareLinkRow>`
    delete from share_links s using principals p
    where s.run_id = ${run_id}::uuid and s.share_link_id = ${share_link_id}::uuid and p.principal_id = s.created_by
    returning ${COLUMNS}`.execute(db)
  return removed.rows[0] ?? null
}
