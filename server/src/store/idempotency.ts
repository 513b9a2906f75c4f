import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { AppError } from '../contract/error.ts'
import type { Db } from './db.ts'
import { removeInParts } from './remove-in-parts.ts'

/** One caller's wish that a POST happens once. */
export interface IdempotencyKey {
  principal_id: string
  /** Method and path: the same key on another route is another wish. */
  route: string
  key: string
  body_hash: Buffer
}

export interface Answer {
  status: number
  body: unknown
}

export const hashBody = (body: Uint8Array): Buffer => createHash('sha256').update(body).digest()

/** How long an answer is kept and given again. */
const LIFETIME = sql`interval '24 hours'`

/**
 * An insert that yields the keys that are new or too old to matter, and none that was used. `rows` is a query for its columns:
 * owner, route, key, hash of the body, status and response.
 */
export const claimKeys = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
    insert into idempotency_keys as k (principal_id, route, key, body_hash, status, response) ${rows}
    on conflict (principal_id, route, key) do update set body_hash = excluded.body_hash, status = excluded.status,
      response = excluded.response, created_at = excluded.created_at
      where k.created_at < clock_timestamp() - ${LIFETIME}
    returning k.principal_id, k.route, k.key`

/** The first answer, to be given again; throws when the key was used with another body. */
export async function readAnswer(db: Db, key: IdempotencyKey): Promise<Answer | null> {
  const found = await sql<{ status: number; response: unknown; same: boolean }>`
    select status, response, body_hash = ${key.body_hash} as same from idempotency_keys
    where principal_id = ${key.principal_id} and route = ${key.route} and key = ${key.key}
      and created_at >= clock_timestamp() - ${LIFETIME}`.execute(db)
  const row = found.rows[0]
  if (!row) return null
  if (!row.same) {
    throw new AppError('invalid_request', 'This Idempotency-Key was used with another body.', { status: 422 })
  }
  return { status: row.status, body: row.response }
}

/**
 * Runs `work` in a transaction that also stores its answer under the key; without a key on `db` itself, so that one
 * statement of work is one statement and holds its locks no longer. A second caller of the same key waits for the
 * first (at most two seconds, then 409) and gets its answer. A throw stores nothing, so a refused request can be
 * corrected and sent again.
 */
export async function once(
  db: Db,
  key: IdempotencyKey | null,
  work: (db: Db) => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> {
  if (!key) return { ...(await work(db)), replayed: false }
  const earlier = await readAnswer(db, key)
  if (earlier) return { ...earlier, replayed: true }
  const done = await db.transaction().execute(async (trx) => {
    await sql`set local lock_timeout = '2s'`.execute(trx)
    const { principal_id, route, body_hash } = key
    const fresh = await claimKeys(
      sql`values (${principal_id}::uuid, ${route}, ${key.key}, ${body_hash}::bytea, 200, 'null'::json)`,
    ).execute(trx)
    if (fresh.rows.length === 0) return null
    const answer = await work(trx)
    await sql`update idempotency_keys set status = ${answer.status}, response = ${JSON.stringify(answer.body)}::json
      where principal_id = ${key.principal_id} and route = ${key.route} and key = ${key.key}`.execute(trx)
    return answer
  })
  if (done) return { ...done, replayed: false }
  const answer = await readAnswer(db, key)
  if (!answer) throw new AppError('conflict', 'A request with this Idempotency-Key is still being handled.')
  return { ...answer, replayed: true }
}

export const removeOldKeys = (db: Db): Promise<void> =>
  removeInParts(db, 'idempotency_keys', sql`created_at < clock_timestamp() - ${LIFETIME}`)
