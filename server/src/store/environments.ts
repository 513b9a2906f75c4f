import { type RawBuilder, sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import type { EnvironmentConfig, ListEnvironmentsQuery } from '../contract/environment.ts'
import { isEnvironmentId } from '../contract/environment-id.ts'
import { AppError } from '../contract/error.ts'
import { MAX_PAGE } from '../contract/page-info.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { brokenCursor, decodeCursor, encodeCursor, isMoment, isPlainText } from './cursor.ts'
import { type Db, transact } from './db.ts'
import { type LastRun, lastRunIn } from './last-run.ts'
import { cutPage, isFollowed, type Paged } from './page.ts'
import { person } from './runs.ts'
import { now } from './sql-fragments.ts'
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
  /** `null`: an earlier version saved it last. */
  last_editor: RunCreatorInfo | null
}

/** Without what only a run needs, and with what the caller may see of its runs. */
export interface ListedEnvironment extends Omit<EnvironmentRow, 'sealed'> {
  last_run: LastRun | null
}

/** What a caller writes of an environment. */
export interface EnvironmentContent {
  config: EnvironmentConfig
  sealed: Buffer | null
}

const LISTED = sql`e.uid, e.name, e.config, e.scope, e.setup_failed, e.created_at, e.last_updated, ${person('p')} as creator,
  case when e.editor_id is not null then ${person('w')} end as last_editor`
const PEOPLE = sql`join principals p on p.principal_id = e.creator_id left join principals w on w.principal_id = e.editor_id`
const FROM = sql`from environments e ${PEOPLE}`

/** The condition that a row is the one with this id or name. No name looks like an id. */
const isReferredBy = (reference: string): RawBuilder<unknown> =>
  isEnvironmentId(reference)
    ? sql`e.uid = ${reference}`
    : sql`e.scope = 'Team' and e.name = ${isPlainText(reference) ? reference : ''}`

const nameTaken = (name: string): AppError =>
  new AppError('conflict', `name: there is an environment called ${JSON.stringify(name)} already.`, {
    retryable: false,
  })

/** Throws `conflict` when the name is taken. Two at once meet at the index of names: the second waits for the first. */
export async function insertEnvironment(
  db: Db,
  { uid, creator_id, config, sealed }: EnvironmentContent & { uid: string; creator_id: string },
): Promise<ListedEnvironment> {
  const { rows } = await sql<ListedEnvironment>`
    with e as (
      insert into environments (uid, name, config, sealed, creator_id, editor_id, scope)
      values (${uid}, ${config.name}, ${json(config)}, ${sealed}::bytea, ${creator_id}::uuid, ${creator_id}::uuid, 'Team')
      on conflict do nothing returning *)
    select ${LISTED}, null as last_run from e ${PEOPLE}`.execute(db)
  if (!rows[0]) throw nameTaken(config.name)
  return rows[0]
}

/**
 * Puts what `change` makes of an environment in its place; `null` when there is none. What `change` is given stays so until
 * then. Throws `conflict` when the name is another's. `last_updated` always rises.
 */
export async function replaceEnvironment(
  db: Db,
  reference: string,
  actor: Pick<Actor, 'principal_id'>,
  change: (environment: EnvironmentRow) => EnvironmentContent,
): Promise<ListedEnvironment | null> {
  return transact(db, async (trx) => {
    const found = await sql<EnvironmentRow>`
      select ${LISTED}, e.sealed ${FROM} where ${isReferredBy(reference)} for update of e`.execute(trx)
    const before = found.rows[0]
    if (!before) return null
    const { config, sealed } = change(before)
    const { rows } = await sql<ListedEnvironment>`
      with e as (
        update environments set name = ${config.name}, config = ${json(config)}, sealed = ${sealed}::bytea,
          editor_id = ${actor.principal_id}::uuid, last_updated = greatest(${now}, last_updated + interval '1 millisecond')
        where uid = ${before.uid} returning *)
      select ${LISTED}, ${lastRunIn(sql`e.uid`, actor)} as last_run from e ${PEOPLE}`
      .execute(trx)
      .catch((error) => {
        throw isNameTaken(error) ? nameTaken(config.name) : error
      })
    return rows[0] ?? null
  })
}

const isNameTaken = (error: unknown): boolean =>
  error instanceof Error && 'constraint' in error && error.constraint === 'environments_team_name'

/** What was deleted; `null` when there was none. Its runs keep the id. */
export async function deleteEnvironment(
  db: Db,
  reference: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<ListedEnvironment | null> {
  const { rows } = await sql<ListedEnvironment>`
    with e as (delete from environments e where ${isReferredBy(reference)} returning *)
    select ${LISTED}, ${lastRunIn(sql`e.uid`, actor)} as last_run from e ${PEOPLE}`.execute(db)
  return rows[0] ?? null
}

export async function readEnvironment(
  db: Db,
  reference: string,
  actor: Pick<Actor, 'principal_id'>,
): Promise<ListedEnvironment | null> {
  const { rows } = await sql<ListedEnvironment>`
    select ${LISTED}, ${lastRunIn(sql`e.uid`, actor)} as last_run ${FROM} where ${isReferredBy(reference)}`.execute(
    db,
  )
  return rows[0] ?? null
}

/** The id behind an id or name; `null` when there is no such environment. */
export async function findEnvironmentId(db: Db, reference: string): Promise<string | null> {
  const { rows } = await sql<{ uid: string }>`
    select e.uid from environments e where ${isReferredBy(reference)}`.execute(db)
  return rows[0]?.uid ?? null
}

/** What an id or name stands for, and the secrets that it names. */
export interface NamedEnvironment {
  uid: string
  secrets: string[]
}

/** `null` when there is no such environment. */
export async function findEnvironmentSecrets(db: Db, reference: string): Promise<NamedEnvironment | null> {
  const { rows } = await sql<NamedEnvironment>`
    select e.uid, coalesce(e.config -> 'secrets', '[]') as secrets from environments e where ${isReferredBy(reference)}`.execute(
    db,
  )
  return rows[0] ?? null
}

/** Whether an id or name is that of this environment. */
export const isEnvironment = async (db: Db, reference: string, uid: string | null): Promise<boolean> =>
  uid !== null && (reference === uid || (await findEnvironmentId(db, reference)) === uid)

/** What an environment allows the agents of its runs; `null` when there is no such environment. */
export async function findEnvironmentRules(
  db: Db,
  uid: string,
): Promise<Pick<EnvironmentConfig, 'permissions'> | null> {
  const { rows } = await sql<Pick<EnvironmentConfig, 'permissions'>>`
    select coalesce(e.config->'permissions', '[]') as permissions from environments e where e.uid = ${uid}`.execute(
    db,
  )
  return rows[0] ?? null
}

/** For its worker. */
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
  { sort_by = 'last_updated', limit = MAX_PAGE, cursor }: ListEnvironmentsQuery,
  actor: Pick<Actor, 'principal_id'>,
): Promise<{ environments: ListedEnvironment[]; next_cursor: string | null }> {
  const sort = SORT[sort_by]
  const position = cursor === undefined ? null : readPosition(cursor, sort_by)
  const beyond = position ? sql`where ${sort.beyond(position.value, position.uid)}` : sql``
  const page = cutPage(sql`select * from (select ${LISTED} ${FROM} ${beyond}) r`, {
    order: sort.order,
    bytes: sql`octet_length(r.config::text)`,
    limit,
  })
  // Only of the page's own rows: what stands inside is worked out for all that are sorted.
  const { rows: environments } = await sql<ListedEnvironment & Paged>`
    select e.*, ${lastRunIn(sql`e.uid`, actor)} as last_run from (${page}) e order by e.place`.execute(db)
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
