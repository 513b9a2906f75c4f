import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Actor, Role } from '../contract/actor.ts'
import type { Db } from './db.ts'
import { randomText, toBase62 } from './random-text.ts'

const PREFIX = 'ry_'
const checksum = (body: string): string => toBase62(crc32(body), 6)
const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest()

/** `ry_` + 40 random characters + a checksum of 6, so that scanners and typos are told without a look-up. */
function newKey(): string {
  const body = randomText(40)
  return `${PREFIX}${body}${checksum(body)}`
}

export const isWellFormedKey = (key: string): boolean =>
  /^ry_[A-Za-z0-9]{46}$/.test(key) && checksum(key.slice(3, 43)) === key.slice(43)

/** Makes a principal and its key. The key is returned here and never again; only its hash is stored. */
export async function createPrincipalWithKey(
  db: Db,
  options: {
    name: string
    role: Role
    type?: 'user' | 'service_account'
    max_running?: number
    expires_at?: Date
  },
): Promise<{ api_key: string; key_id: string; principal_id: string }> {
  const api_key = newKey()
  const principal_id = uuidv7()
  const key_id = uuidv7()
  await sql`
    with owner as (
      insert into principals (principal_id, type, display_name, max_running)
      values (${principal_id}, ${options.type ?? 'user'}, ${options.name}, ${options.max_running ?? 1000}::int)
      returning principal_id)
    insert into api_keys (key_id, key_hash, principal_id, name, role, masked, expires_at)
    select ${key_id}, ${hashOf(api_key)}, principal_id, ${options.name}, ${options.role},
      ${`${api_key.slice(0, 7)}…${api_key.slice(-4)}`}, ${options.expires_at ?? null}::timestamptz from owner`.execute(
    db,
  )
  return { api_key, key_id, principal_id }
}

/**
 * Whose key this is; `null` when unknown, expired, revoked or its principal disabled. The look-up is by hash, so its
 * time says nothing about other keys.
 */
export async function findActor(db: Db, api_key: string): Promise<Actor | null> {
  const found = await sql<Actor & { stale: boolean }>`
    select k.principal_id, k.key_id, k.role,
      coalesce(k.last_used_at < clock_timestamp() - interval '1 minute', true) as stale
    from api_keys k join principals p using (principal_id)
    where k.key_hash = ${hashOf(api_key)} and k.revoked_at is null and not p.disabled
      and (k.expires_at is null or k.expires_at > clock_timestamp())`.execute(db)
  const row = found.rows[0]
  if (!row) return null
  const { stale, ...actor } = row
  // Once a minute is enough to see which keys are in use.
  if (stale)
    await sql`update api_keys set last_used_at = clock_timestamp() where key_id = ${actor.key_id}`.execute(db)
  return actor
}

/** Whether a key that was good when a stream began still is. */
export async function isKeyActive(db: Db, key_id: string): Promise<boolean> {
  const found = await sql`
    select 1 from api_keys k join principals p using (principal_id)
    where k.key_id = ${key_id} and k.revoked_at is null and not p.disabled
      and (k.expires_at is null or k.expires_at > clock_timestamp())`.execute(db)
  return found.rows.length > 0
}

export interface KeyListing {
  key_id: string
  name: string
  role: Role
  masked: string
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
}

export async function listKeys(db: Db): Promise<KeyListing[]> {
  const found = await sql<KeyListing>`
    select key_id, name, role, masked, created_at, expires_at, last_used_at, revoked_at
    from api_keys order by key_id`.execute(db)
  return found.rows
}

/** False when there is no such key, or it was revoked before. */
export async function revokeKey(db: Db, key_id: string): Promise<boolean> {
  const changed = await sql`
    update api_keys set revoked_at = clock_timestamp() where key_id = ${key_id} and revoked_at is null
    returning 1`.execute(db)
  return changed.rows.length > 0
}
