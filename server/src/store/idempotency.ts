import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
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

/** How long a second caller waits for the first. */
const WAIT_MS = 2_000
const LOOK_MS = 50

/** The status of a key whose work is done outside of a transaction, until it has an answer. */
const UNDER_WAY = 0
/** The key counts: it is neither too old, nor of work whose process has ended. Nothing that is done so takes two minutes. */
const COUNTS = sql`k.created_at >= clock_timestamp() - ${LIFETIME}
  and (k.status <> ${UNDER_WAY} or k.created_at >= clock_timestamp() - interval '2 minutes')`

/**
 * An insert that yields the keys that are new or too old to matter, and none that was used. `rows` is a query for its columns:
 * owner, route, key, hash of the body, status and response.
 */
export const claimKeys = (rows: RawBuilder<unknown>): RawBuilder<{ created_at: string }> => sql`
    insert into idempotency_keys as k (principal_id, route, key, body_hash, status, response) ${rows}
    on conflict (principal_id, route, key) do update set body_hash = excluded.body_hash, status = excluded.status,
      response = excluded.response, created_at = excluded.created_at
      where not (${COUNTS})
    returning k.principal_id, k.route, k.key, k.created_at::text as created_at`

/** The first answer, to be given again; throws when the key was used with another body, or its work is under way. */
export async function readAnswer(db: Db, key: IdempotencyKey): Promise<Answer | null> {
  const answer = await readState(db, key)
  if (answer?.status === UNDER_WAY) throw stillHandled()
  return answer
}

async function readState(db: Db, key: IdempotencyKey): Promise<Answer | null> {
  const found = await sql<{ status: number; response: unknown; same: boolean }>`
    select k.status, k.response, k.body_hash = ${key.body_hash} as same from idempotency_keys k
    where ${isKey(key)} and ${COUNTS}`.execute(db)
  const row = found.rows[0]
  if (!row) return null
  if (!row.same) {
    throw new AppError('invalid_request', 'This Idempotency-Key was used with another body.', { status: 422 })
  }
  return { status: row.status, body: row.response }
}

const isKey = ({ principal_id, route, key }: IdempotencyKey): RawBuilder<unknown> =>
  sql`k.principal_id = ${principal_id} and k.route = ${route} and k.key = ${key}`

const stillHandled = () =>
  new AppError('conflict', 'A request with this Idempotency-Key is still being handled.')

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
    await sql`set local lock_timeout = ${sql.lit(`${WAIT_MS}ms`)}`.execute(trx)
    if (!(await begin(trx, key))) return null
    const answer = await work(trx)
    await keepAnswer(trx, isKey(key), answer)
    return answer
  })
  if (done) return { ...done, replayed: false }
  const answer = await readAnswer(db, key)
  if (!answer) throw stillHandled()
  return { ...answer, replayed: true }
}

/**
 * As `once`, for work that waits for another machine, which no transaction may stay open for. A second caller of the same key
 * waits as long, and then gets a 409. If the process ends before the work has, the key can be used again two minutes after it was.
 */
export async function onceOutside(
  db: Db,
  key: IdempotencyKey | null,
  work: () => Promise<Answer>,
): Promise<Answer & { replayed: boolean }> {
  if (!key) return { ...(await work()), replayed: false }
  const deadline = performance.now() + WAIT_MS
  for (;;) {
    const earlier = await readState(db, key)
    if (earlier && earlier.status !== UNDER_WAY) return { ...earlier, replayed: true }
    const begun_at = earlier ? null : await begin(db, key)
    if (begun_at !== null) return { ...(await answerBegun(db, key, begun_at, work)), replayed: false }
    if (performance.now() > deadline) throw stillHandled()
    await wait(LOOK_MS)
  }
}

/** Work that was done is not done again, whether or not its answer could be kept. */
async function answerBegun(
  db: Db,
  key: IdempotencyKey,
  begun_at: string,
  work: () => Promise<Answer>,
): Promise<Answer> {
  // After two minutes it may be another's.
  const own = sql`${isKey(key)} and k.created_at = ${begun_at}::timestamptz`
  let answer: Answer
  try {
    answer = await work()
  } catch (error) {
    await sql`delete from idempotency_keys k where ${own} and k.status = ${UNDER_WAY}`
      .execute(db)
      .catch(() => {})
    throw error
  }
  await keepAnswer(db, own, answer)
  return answer
}

/** When it was taken, if it is this caller's now. */
async function begin(
  db: Db,
  { principal_id, route, key, body_hash }: IdempotencyKey,
): Promise<string | null> {
  const { rows } = await claimKeys(
    sql`values (${principal_id}::uuid, ${route}, ${key}, ${body_hash}::bytea, ${UNDER_WAY}::int, 'null'::json)`,
  ).execute(db)
  return rows[0]?.created_at ?? null
}

async function keepAnswer(db: Db, own: RawBuilder<unknown>, { status, body }: Answer): Promise<void> {
  await sql`update idempotency_keys k set status = ${status}, response = ${JSON.stringify(body)}::json
    where ${own}`.execute(db)
}

export const removeOldKeys = (db: Db): Promise<void> =>
  removeInParts(db, 'idempotency_keys', sql`created_at < clock_timestamp() - ${LIFETIME}`)
