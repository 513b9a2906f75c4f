import { type RawBuilder, sql } from 'kysely'
import type { Role } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { ListPrincipalsQuery } from '../contract/principal.ts'
import { isUuid } from '../contract/run-id.ts'
import { endsLastAdmin, HIGHEST_FIRST, lockAdminKeys, validKey } from './api-keys.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import { type Db, transact } from './db.ts'

/** A person, with what their keys come to, whether they may be used or not. */
export interface PrincipalRow {
  uid: string
  display_name: string
  disabled: boolean
  created_at: Date
  keys: number
  role: Role | null
  last_used_at: Date | null
}

const selectPeople = (condition: RawBuilder<unknown>): RawBuilder<PrincipalRow> => sql<PrincipalRow>`
  select p.principal_id as uid, p.display_name, p.disabled, p.created_at, held.keys, held.role, held.last_used_at
  from principals p cross join lateral (
    select count(*) filter (where ${validKey})::int as keys, max(k.last_used_at) as last_used_at,
      (array_agg(k.role order by ${HIGHEST_FIRST}) filter (where ${validKey} and k.pool is null))[1] as role
    from api_keys k where k.principal_id = p.principal_id) held
  where p.type = 'user' and ${condition}`

/** One page, newest first. */
export async function listPeople(
  db: Db,
  { limit = 100, cursor }: ListPrincipalsQuery,
): Promise<{ people: PrincipalRow[]; next_cursor: string | null }> {
  let condition = sql`true`
  if (cursor !== undefined) {
    const [after] = decodeCursor(cursor, 1)
    if (typeof after !== 'string' || !isUuid(after)) throw brokenCursor()
    condition = sql`p.principal_id < ${after}::uuid`
  }
  const { rows } = await sql`${selectPeople(condition)} order by p.principal_id desc limit ${limit + 1}`
    .$castTo<PrincipalRow>()
    .execute(db)
  const people = rows.slice(0, limit)
  const last = people.at(-1)
  return { people, next_cursor: last && rows.length > limit ? encodeCursor([last.uid]) : null }
}

/**
 * Stops everything that is done as a person, or lets it go on: their keys, and with them sessions, links and streams; what
 * schedules and triggers start; runs that wait. `null` when there is nobody with this id; `last`: they have the last admin
 * key that works, and nothing was done.
 */
export const turnPerson = (db: Db, uid: string, disabled: boolean): Promise<PrincipalRow | 'last' | null> =>
  transact(db, async (trx) => {
    if (!isUuid(uid)) return null
    if (disabled && endsLastAdmin(await lockAdminKeys(trx), (key) => key.principal_id === uid)) return 'last'
    await sql`update principals set disabled = ${disabled}::boolean where principal_id = ${uid}::uuid and type = 'user'`.execute(
      trx,
    )
    const { rows } = await selectPeople(sql`p.principal_id = ${uid}::uuid`).execute(trx)
    return rows[0] ?? null
  })

/** Whether somebody may still act: neither a person who is disabled nor an identity that was deleted. */
export async function isPrincipalActive(db: Db, principal_id: string): Promise<boolean> {
  const found = await sql`
    select from principals where principal_id = ${principal_id}::uuid and not disabled`.execute(db)
  return found.rows.length > 0
}

/** Of a run whose executor may not act any more. */
export const ORPHANED =
  'This run cannot go on: the identity that executes it was deleted, or the person is disabled.'

export const orphaned = (): AppError => new AppError('conflict', ORPHANED, { retryable: false })
