import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Actor, Role } from '../contract/actor.ts'
import type { ListApiKeysQuery } from '../contract/api-key.ts'
import type { RunCreatorInfo } from '../contract/run.ts'
import { isUuid } from '../contract/run-id.ts'
import { brokenCursor, decodeCursor, encodeCursor } from './cursor.ts'
import { type Db, transact } from './db.ts'
import { randomText, toBase62 } from './random-text.ts'

const PREFIX = 'ry_'
const POOL_PREFIX = 'ryp_'
const checksum = (body: string): string => toBase62(crc32(body), 6)
const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest()

/** `ry_` + 40 random characters + a checksum of 6, so that scanners and typos are told without a look-up; a pool key begins with `ryp_`. */
function newKey(pool: string | null): string {
  const body = randomText(40)
  return `${pool === null ? PREFIX : POOL_PREFIX}${body}${checksum(body)}`
}

export function isWellFormedKey(key: string): boolean {
  const [, body = '', sum] = /^ryp?_([A-Za-z0-9]{40})([A-Za-z0-9]{6})$/.exec(key) ?? []
  return sum !== undefined && checksum(body) === sum
}

/** A key as it is given out: the text is returned here and never again; only its hash is stored. */
export interface NewKey {
  api_key: string
  key_id: string
  principal_id: string
}

export interface KeyOptions {
  name: string
  role: Role
  /** A pool key: its role is `viewer`. */
  pool?: string | undefined
  expires_at?: Date
  /** The key that allowed the login which this one is for: it goes when that is revoked. */
  granted_by?: string
}

/** The columns of a key that is made now, but for whose it is and what it may do. */
function makeKey(pool: string | null): { api_key: string; key_id: string; key_hash: Buffer; masked: string } {
  const api_key = newKey(pool)
  const masked = `${api_key.slice(0, 7)}…${api_key.slice(-4)}`
  return { api_key, key_id: uuidv7(), key_hash: hashOf(api_key), masked }
}

/** Makes a principal and its first key. */
export async function createPrincipalWithKey(
  db: Db,
  options: KeyOptions & { type?: 'user' | 'service_account'; max_running?: number },
): Promise<NewKey> {
  const pool = options.pool ?? null
  const { api_key, key_id, key_hash, masked } = makeKey(pool)
  const principal_id = uuidv7()
  await sql`
    with owner as (
      insert into principals (principal_id, type, display_name, max_running)
      values (${principal_id}, ${options.type ?? 'user'}, ${options.name}, ${options.max_running ?? 1000}::int)
      returning principal_id)
    insert into api_keys (key_id, key_hash, principal_id, name, role, pool, masked, expires_at)
    select ${key_id}, ${key_hash}, principal_id, ${options.name}, ${options.role}, ${pool}::text,
      ${masked}, ${options.expires_at ?? null}::timestamptz from owner`.execute(db)
  return { api_key, key_id, principal_id }
}

/** Makes one more key of a principal; `null` when there is none with this id, or it is disabled. */
export async function addKey(
  db: Db,
  principal_id: string,
  {
    name,
    role,
    pool = null,
    expires_at,
    granted_by,
  }: Omit<KeyOptions, 'pool'> & { pool?: string | null | undefined },
): Promise<NewKey | null> {
  if (!isUuid(principal_id)) return null
  const { api_key, key_id, key_hash, masked } = makeKey(pool)
  const added = await sql`
    insert into api_keys (key_id, key_hash, principal_id, name, role, pool, masked, expires_at, granted_by)
    select ${key_id}, ${key_hash}, principal_id, ${name}, ${role}, ${pool}::text, ${masked}, ${expires_at ?? null}::timestamptz,
      ${granted_by ?? null}::uuid
    from principals where principal_id = ${principal_id} and not disabled returning 1`.execute(db)
  return added.rows.length > 0 ? { api_key, key_id, principal_id } : null
}

/** Of people of one name, the one who was made first. An identity may have any name. */
export async function findPrincipalNamed(db: Db, name: string): Promise<string | null> {
  const found = await sql<{ principal_id: string }>`
    select principal_id from principals where display_name = ${name} and type = 'user' and not disabled
    order by principal_id limit 1`.execute(db)
  return found.rows[0]?.principal_id ?? null
}

/**
 * Makes a key in place of another: of the same principal, role, pool, name and expiry. The old one is revoked at once, or ends
 * after `grace_ms`; the one that it had replaced ends now. `null` when it is not active, or, with `once`, was replaced before. One statement, so that of two at once
 * without grace, or with `once`, one finds it done.
 */
export async function rotateKey(
  db: Db,
  old_key_id: string,
  { grace_ms = 0, once = false }: { grace_ms?: number; once?: boolean } = {},
): Promise<NewKey | null> {
  const old = await findKey(db, old_key_id)
  if (!old) return null
  const { api_key, key_id, key_hash, masked } = makeKey(old.pool)
  const until = sql`clock_timestamp() + ${grace_ms}::double precision * interval '1 millisecond'`
  const end =
    grace_ms > 0 ? sql`grace_until = least(k.grace_until, ${until})` : sql`revoked_at = clock_timestamp()`
  const rotated = await sql<{ principal_id: string }>`
    with old as (
      update api_keys k set ${end} from principals p
      where k.key_id = ${old_key_id} and p.principal_id = k.principal_id and ${activeKey}
        ${once ? sql`and k.grace_until is null` : sql``}
      returning k.principal_id, k.name, k.role, k.pool, k.expires_at, k.replaces, k.granted_by),
    -- One grace at a time: else whoever has an old key goes on with it for as long as keys are rotated.
    ended as (
      update api_keys b set revoked_at = clock_timestamp() from old where b.key_id = old.replaces and b.revoked_at is null)
    insert into api_keys (key_id, key_hash, principal_id, name, role, pool, masked, expires_at, replaces, granted_by)
    select ${key_id}, ${key_hash}, principal_id, name, role, pool, ${masked}, expires_at, ${old_key_id}::uuid, granted_by from old
    returning principal_id`.execute(db)
  const row = rotated.rows[0]
  return row ? { api_key, key_id, principal_id: row.principal_id } : null
}

/** Of a key `k`: it is neither revoked nor over. */
export const validKey = sql<boolean>`k.revoked_at is null
  and coalesce(least(k.expires_at, k.grace_until) > clock_timestamp(), true)`

/** Of a key `k` of a principal `p`: it works. */
export const activeKey = sql<boolean>`${validKey} and not p.disabled`

/** The order of keys `k` by what they may do. */
export const HIGHEST_FIRST = sql`array_position(array['admin', 'member', 'viewer'], k.role)`

export type FoundActor = Omit<Actor, 'is_identity' | 'pool'> & { is_identity: boolean; pool?: string | null }

export const toActor = ({ is_identity, pool = null, ...actor }: FoundActor): Actor => ({
  ...actor,
  ...(pool === null ? {} : { pool }),
  ...(is_identity ? { is_identity: true } : {}),
})

/**
 * Whose key this is; `null` when unknown, expired, revoked or its principal disabled. The look-up is by hash, so its
 * time says nothing about other keys.
 */
export async function findActor(db: Db, api_key: string): Promise<Actor | null> {
  const found = await sql<FoundActor & { stale: boolean }>`
    select k.principal_id, k.key_id, k.role, k.pool, p.type = 'service_account' as is_identity,
      coalesce(k.last_used_at < clock_timestamp() - interval '1 minute', true) as stale
    from api_keys k join principals p using (principal_id)
    where k.key_hash = ${hashOf(api_key)} and ${activeKey}`.execute(db)
  const row = found.rows[0]
  if (!row) return null
  const { stale, ...found_actor } = row
  const actor = toActor(found_actor)
  // Once a minute is enough to see which keys are in use.
  if (stale)
    await sql`update api_keys set last_used_at = clock_timestamp() where key_id = ${actor.key_id}`.execute(db)
  return actor
}

/** Who acts by what was made with a key, a link for example; `null` when the key is not good any more. */
export async function readActor(db: Db, key_id: string): Promise<Actor | null> {
  const found = await sql<FoundActor>`
    select k.principal_id, k.key_id, k.role, p.type = 'service_account' as is_identity from api_keys k join principals p using (principal_id)
    where k.key_id = ${key_id} and ${activeKey}`.execute(db)
  return found.rows[0] ? toActor(found.rows[0]) : null
}

/**
 * As whom something is done for a principal with none of its keys at hand: with the highest role that its working keys have, or
 * as a member where none works.
 */
export async function readStanding(db: Db, principal_id: string): Promise<Actor> {
  const found = await sql<{ role: Role | null; is_identity: boolean }>`
    select p.type = 'service_account' as is_identity, (
      select k.role from api_keys k where k.principal_id = p.principal_id and k.pool is null and ${activeKey}
      order by ${HIGHEST_FIRST} limit 1) as role
    from principals p where p.principal_id = ${principal_id}::uuid`.execute(db)
  const [row] = found.rows
  return {
    ...{ principal_id, role: row?.role ?? 'member', key_id: '' },
    ...(row?.is_identity ? { is_identity: true } : {}),
  }
}

export interface KeyListing {
  key_id: string
  principal_id: string
  /** The principal's own name; `name` is the key's. */
  principal_name: string
  principal_type: RunCreatorInfo['type']
  name: string
  role: Role
  /** For a pool key. */
  pool: string | null
  masked: string
  created_at: Date
  expires_at: Date | null
  /** Another was made in its place, and it works until then. */
  grace_until: Date | null
  /** The key in whose place it was made. */
  replaces: string | null
  last_used_at: Date | null
  revoked_at: Date | null
  active: boolean
}

const LISTED = sql`k.key_id, k.principal_id, p.display_name as principal_name, p.type as principal_type, k.name, k.role, k.pool,
  k.masked, k.created_at, k.expires_at, k.grace_until, k.replaces, k.last_used_at, k.revoked_at, ${activeKey} as active`
const FROM = sql`from api_keys k join principals p using (principal_id)`

export async function listKeys(db: Db): Promise<KeyListing[]> {
  const found = await sql<KeyListing>`select ${LISTED} ${FROM} order by k.key_id`.execute(db)
  return found.rows
}

/** One page, newest first; of one principal, or of all. */
export async function listKeyPage(
  db: Db,
  { limit = 100, cursor, principal_id }: ListApiKeysQuery,
): Promise<{ keys: KeyListing[]; next_cursor: string | null }> {
  const conditions = [sql`true`]
  if (principal_id !== undefined) conditions.push(sql`k.principal_id = ${principal_id}::uuid`)
  if (cursor !== undefined) {
    const [after] = decodeCursor(cursor, 1)
    if (typeof after !== 'string' || !isUuid(after)) throw brokenCursor()
    conditions.push(sql`k.key_id < ${after}::uuid`)
  }
  const { rows } = await sql<KeyListing>`
    select ${LISTED} ${FROM} where ${sql.join(conditions, sql` and `)} order by k.key_id desc limit ${limit + 1}`.execute(
    db,
  )
  const keys = rows.slice(0, limit)
  const last = keys.at(-1)
  return { keys, next_cursor: last && rows.length > limit ? encodeCursor([last.key_id]) : null }
}

export async function findKey(db: Db, key_id: string): Promise<KeyListing | null> {
  if (!isUuid(key_id)) return null
  const found = await sql<KeyListing>`select ${LISTED} ${FROM} where k.key_id = ${key_id}`.execute(db)
  return found.rows[0] ?? null
}

interface AdminKey {
  key_id: string
  principal_id: string
  /** It ends soon, since another was made in its place. */
  replaced: boolean
  /** It ends some day. */
  expires: boolean
}

/**
 * The admin keys that work, which then stay so until the transaction ends: neither they nor whose they are change. Two at once
 * wait for each other, in the order of the keys.
 */
export async function lockAdminKeys(trx: Db): Promise<AdminKey[]> {
  const found = await sql<AdminKey>`
    select k.key_id, k.principal_id, k.grace_until is not null as replaced, k.expires_at is not null as expires ${FROM} where k.role = 'admin' and ${activeKey}
    order by k.key_id for update of k for no key update of p`.execute(trx)
  return found.rows
}

/**
 * Whether the last admin key that goes on is among those that end: without one nobody could make another over HTTP. One that ends
 * by itself does not stand in for one that does not.
 */
export function endsLastAdmin(admins: readonly AdminKey[], ends: (key: AdminKey) => boolean): boolean {
  const ended = admins.filter(ends)
  const left = admins.filter((key) => !ends(key) && !key.replaced)
  const lasts = ended.some((key) => !key.expires)
  return ended.length > 0 && !left.some((key) => !(lasts && key.expires))
}

/** The same as `revokeKey`, but for the last admin key that goes on. */
export const revokeUnlessLast = (db: Db, key_id: string): Promise<'revoked' | 'last' | 'gone'> =>
  transact(db, async (trx) => {
    if (!isUuid(key_id)) return 'gone'
    const admins = await lockAdminKeys(trx)
    const chain = await readChain(trx, key_id)
    if (endsLastAdmin(admins, (key) => chain.includes(key.key_id))) return 'last'
    return (await revokeKey(trx, key_id)) ? 'revoked' : 'gone'
  })

/** A key and those before it, each replaced by the next, with those of the logins that they allowed. */
async function readChain(db: Db, key_id: string): Promise<string[]> {
  const { rows } = await sql<{ key_id: string }>`
    with recursive chain as (
      select key_id, replaces from api_keys where key_id = ${key_id}::uuid
      union select k.key_id, k.replaces from api_keys k join chain c on k.key_id = c.replaces or k.granted_by = c.key_id)
    select key_id from chain`.execute(db)
  return rows.map((row) => row.key_id)
}

/**
 * Revokes a key and those that it replaced, which may still have their grace, and those of logins that it allowed. False when there is no such key, or it was revoked
 * before.
 */
export async function revokeKey(db: Db, key_id: string): Promise<boolean> {
  if (!isUuid(key_id)) return false
  const chain = await readChain(db, key_id)
  const changed = await sql<{ key_id: string }>`
    with held as (select key_id from api_keys where key_id = any(${chain}::uuid[]) order by key_id desc for update)
    update api_keys k set revoked_at = clock_timestamp() from held h where k.key_id = h.key_id and k.revoked_at is null
    returning k.key_id`.execute(db)
  return changed.rows.some((row) => row.key_id === key_id)
}
