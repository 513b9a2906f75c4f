import { type RawBuilder, sql } from 'kysely'
import type { EnvironmentConfig, ListEnvironmentsQuery } from '../contract/environment.ts'
import { isEnvironmentId } from '../contract/environment-id.ts'
import { AppError } from '../contract/error.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { brokenCursor, decodeCursor, encodeCursor, isMoment, isPlainText } from './cursor.ts'
import type { Db } from './db.ts'
import { cutPage, isFollowed, type Paged } from './page.ts'
import { json } from './storable.ts'

export interface EnvironmentRow {
  uid: string
  name: string
  config: EnvironmentConfig
  sealed: Uint8Array | null
  scope: 'User' | 'Team'
  setup_failed: boolean
  created_at: Date
  last_updated: Date
  creator: RunCreatorInfo
}

/** Without what only a run needs. */
export type ListedEnvironment = Omit<EnvironmentRow, 'sealed'>

const LISTED = sql`e.uid, e.name, e.config, e.scope, e.setup_failed, e.created_at, e.last_updated,
  jsonb_build_object('uid', p.principal_id, 'type', p.type, 'display_name', p.display_name) as creator`
const FROM = sql`from environments e join principals p on p.principal_id = e.creator_id`

export async function insertEnvironment(
  trx: Db,
  environment: { uid: string; creator_id: string; config: EnvironmentConfig; sealed: Buffer | null },
): Promise<EnvironmentRow> {
  await sql`
    insert into environments (uid, name, config, sealed, creator_id, scope)
    values (${environment.uid}, ${environment.config.name}, ${json(environment.config)},
      ${environment.sealed}, ${environment.creator_id}, 'Team')`.execute(trx)
  const row = await findEnvironment(trx, environment.uid)
  if (!row) throw new Error('The environment just inserted is gone.')
  return row
}

export async function findEnvironment(db: Db, uid: string): Promise<EnvironmentRow | null> {
  const found = await sql<EnvironmentRow>`select ${LISTED}, e.sealed ${FROM} where e.uid = ${uid}`.execute(db)
  return found.rows[0] ?? null
}

type SortKey = NonNullable<ListEnvironmentsQuery['sort_by']>

interface Sort {
  order: RawBuilder<unknown>
  /** The condition that a row comes after this value and id. */
  beyond: (value: string, uid: string) => RawBuilder<unknown>
  valueOf: (row: ListedEnvironment) => string
  isValue: (value: unknown) => value is string
}

const SORT: Record<SortKey, Sort> = {
  name: {
    order: sql`r.name collate "C", r.uid`,
    beyond: (name, uid) => sql`(e.name collate "C", e.uid) > (${name}::text, ${uid}::text)`,
    valueOf: (row) => row.name,
    isValue: isPlainText,
  },
  last_updated: {
    order: sql`r.last_updated desc, r.uid`,
    beyond: (time, uid) => sql`(e.last_updated < ${time}::timestamptz
      or (e.last_updated = ${time}::timestamptz and e.uid > ${uid}::text))`,
    valueOf: (row) => row.last_updated.toISOString(),
    isValue: isMoment,
  },
}

/** One page by keyset, as large as it may be unless a `limit` says less. */
export async function listEnvironments(
  db: Db,
  { sort_by = 'last_updated', limit = 1000, cursor }: ListEnvironmentsQuery,
): Promise<{ environments: ListedEnvironment[]; next_cursor: string | null }> {
  const sort = SORT[sort_by]
  const position = cursor === undefined ? null : readPosition(cursor, sort_by)
  const beyond = position ? sql`where ${sort.beyond(position.value, position.uid)}` : sql``
  const page = cutPage(sql`select * from (select ${LISTED} ${FROM} ${beyond}) r`, {
    order: sort.order,
    bytes: sql`octet_length(r.config::text)`,
    limit,
  })
  const { rows: environments } = await sql<ListedEnvironment & Paged>`${page}`.execute(db)
  const last = environments.at(-1)
  const more = isFollowed(environments) && last
  return { environments, next_cursor: more ? encodeCursor([sort_by, sort.valueOf(last), last.uid]) : null }
}

function readPosition(cursor: string, sort_by: SortKey): { value: string; uid: string } {
  const [sorted_by, value, uid] = decodeCursor(cursor, 3)
  if (sorted_by !== sort_by) {
    if (typeof sorted_by === 'string' && Object.hasOwn(SORT, sorted_by))
      throw new AppError('invalid_request', 'cursor: belongs to another sort_by.')
    throw brokenCursor()
  }
  if (!SORT[sort_by].isValue(value) || typeof uid !== 'string' || !isEnvironmentId(uid)) throw brokenCursor()
  return { value, uid }
}

/** Remembers how the latest setup went; not an edit, so `last_updated` stays. */
export async function markSetup(db: Db, uid: string, failed: boolean): Promise<void> {
  await sql`update environments set setup_failed = ${failed} where uid = ${uid} and setup_failed <> ${failed}`.execute(
    db,
  )
}
