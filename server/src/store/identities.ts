import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { IdentityConfig, ListAgentIdentitiesQuery } from '../contract/identity.ts'
import { MAX_PAGE } from '../contract/page-info.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import { endsLastAdmin, lockAdminKeys } from './api-keys.ts'
import { brokenCursor, decodeCursor, encodeCursor, isPlainText } from './cursor.ts'
import { type Db, transact } from './db.ts'
import { removeGrants } from './grants.ts'
import { json } from './storable.ts'

export interface IdentityRow {
  uid: string
  name: string
  config: IdentityConfig
  creator: RunCreatorInfo
  created_at: Date
  updated_at: Date
}

/** With the beginning of its prompt. */
export interface ListedIdentity extends IdentityRow {
  prompt_truncated: boolean
}

/** As many as one answer holds: published clients know no pages of this list. */
export const MAX_IDENTITIES = MAX_PAGE
/** Of a prompt in the list, in characters. */
const SHOWN_PROMPT = 2_048

const NAMED = sql`i.principal_id as uid, p.display_name as name, p.created_at, i.updated_at,
  jsonb_build_object('uid', c.principal_id, 'type', c.type, 'display_name', c.display_name) as creator`
const LISTED = sql`${NAMED}, i.config`
const SORT_NAME = sql`lower(p.display_name) collate "C"`
const JOINED = sql`join principals p on p.principal_id = i.principal_id join principals c on c.principal_id = i.creator_id`

/** `null` when there are as many as there may be. */
export async function insertIdentity(
  db: Db,
  { name, config, creator_id }: { name: string; config: IdentityConfig; creator_id: string },
): Promise<IdentityRow | null> {
  const uid = uuidv7()
  // Of two at once both may find room for one: the limit is for the size of an answer, which that does not change.
  const made = await sql`
    with owner as (
      insert into principals (principal_id, type, display_name)
      select ${uid}::uuid, 'service_account', ${name}::text
      where (select count(*) from identities i join principals p using (principal_id) where not p.disabled) < ${MAX_IDENTITIES}::int
      returning principal_id)
    insert into identities (principal_id, creator_id, config)
    select principal_id, ${creator_id}::uuid, ${json(config)} from owner returning 1`.execute(db)
  return made.rows.length > 0 ? findIdentity(db, uid) : null
}

/** `null` when there is none with this id, or it was deleted. */
export async function findIdentity(db: Db, uid: string): Promise<IdentityRow | null> {
  if (!isUuid(uid)) return null
  const found = await sql<IdentityRow>`
    select ${LISTED} from identities i ${JOINED} where i.principal_id = ${uid} and not p.disabled`.execute(db)
  return found.rows[0] ?? null
}

/** One page by name, as people sort names: without regard to case. Without the ends of long prompts. */
export async function listIdentities(
  db: Db,
  { limit = MAX_PAGE, cursor }: ListAgentIdentitiesQuery,
): Promise<{ identities: ListedIdentity[]; next_cursor: string | null }> {
  const position = cursor === undefined ? null : readPosition(cursor)
  const beyond = position
    ? sql`and (${SORT_NAME}, i.principal_id) > (${position.name}::text, ${position.uid}::uuid)`
    : sql``
  const { rows } = await sql<ListedIdentity & { sort_name: string }>`
    select ${NAMED}, ${SORT_NAME} as sort_name, long.prompt as prompt_truncated,
      case when long.prompt then i.config || jsonb_build_object('prompt', left(i.config->>'prompt', ${SHOWN_PROMPT}::int))
        else i.config end as config
    from identities i ${JOINED},
      lateral (select coalesce(length(i.config->>'prompt') > ${SHOWN_PROMPT}::int, false) as prompt) long
    where not p.disabled ${beyond} order by ${SORT_NAME}, i.principal_id limit ${limit + 1}::int`.execute(db)
  const identities = rows.slice(0, limit)
  const last = identities.at(-1)
  return {
    identities,
    next_cursor: last && rows.length > limit ? encodeCursor([last.sort_name, last.uid]) : null,
  }
}

function readPosition(cursor: string): { name: string; uid: string } {
  const [name, uid] = decodeCursor(cursor, 2)
  if (!isPlainText(name) || typeof uid !== 'string' || !isUuid(uid)) throw brokenCursor()
  return { name, uid }
}

/** Puts what `change` makes of an identity in its place; `null` when there is none. */
export const replaceIdentity = (
  db: Db,
  uid: string,
  change: (row: IdentityRow) => Pick<IdentityRow, 'name' | 'config'>,
): Promise<IdentityRow | null> =>
  transact(db, async (trx) => {
    if (!isUuid(uid)) return null
    const found = await sql<IdentityRow>`
      select ${LISTED} from identities i ${JOINED} where i.principal_id = ${uid} and not p.disabled
      for update of i`.execute(trx)
    const before = found.rows[0]
    if (!before) return null
    const { name, config } = change(before)
    await sql`update principals set display_name = ${name} where principal_id = ${uid}`.execute(trx)
    await sql`update identities set config = ${json(config)}, updated_at = next_update(updated_at)
      where principal_id = ${uid}`.execute(trx)
    return findIdentity(trx, uid)
  })

/**
 * The identity as it was; `null` when there is none. Its principal is disabled, so its keys stop and nothing new is executed
 * by it; its runs stay. So does what was granted to it: without the last of its grants a thing would be for everybody.
 * `last`: it holds the last admin key that works, and nothing was done.
 */
export const deleteIdentity = (db: Db, uid: string): Promise<IdentityRow | 'last' | null> =>
  transact(db, async (trx) => {
    const row = await findIdentity(trx, uid)
    if (!row) return null
    if (endsLastAdmin(await lockAdminKeys(trx), (key) => key.principal_id === uid)) return 'last'
    await sql`update api_keys set revoked_at = clock_timestamp() where principal_id = ${uid} and revoked_at is null`.execute(
      trx,
    )
    await sql`update principals set disabled = true where principal_id = ${uid}`.execute(trx)
    await removeGrants(trx, { resource_type: 'identity', resource_id: uid })
    return row
  })
