import { randomInt } from 'node:crypto'
import { sql } from 'kysely'
import type { Actor } from '../contract/actor.ts'
import { addKey, findKey, type NewKey, readActor } from './api-keys.ts'
import { type Db, transact } from './db.ts'
import { hashOfToken, makeOpaqueToken } from './opaque-token.ts'
import { removeInParts } from './remove-in-parts.ts'

/** Seconds until a login that nobody has granted is over. */
export const LOGIN_LIFETIME_S = 600
/** Seconds between two questions of a program whether its login was granted. */
export const ASK_INTERVAL_S = 2
/** At one time; nobody has to say who they are to ask for one. One network holds 300 of them at most. */
const MOST_OPEN = 10_000
/** Without vowels and what is taken for another letter, as RFC 8628 (6.1) recommends: 25 bits, within ten minutes. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/

export interface NewLogin {
  device_code: string
  user_code: string
}

/** A login that waits, as it is shown to whoever may grant it. */
export interface WaitingLogin {
  user_code: string
  client_name: string
  address: string
  created_at: Date
}

/** What a program that asks again is told. */
export type LoginState =
  | { status: 'granted'; key: NewKey; actor: Actor; client_name: string }
  | { status: 'pending' | 'refused' | 'unknown' }

/** `null`: too many wait already. */
export async function createLogin(
  db: Db,
  { client_name, address }: { client_name: string; address: string },
): Promise<NewLogin | null> {
  const { token, token_hash } = makeOpaqueToken()
  const user_code = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  const made = await sql`
    insert into device_logins (device_hash, user_code, client_name, address, expires_at)
    select ${token_hash}, ${user_code}, ${client_name}, ${address},
      clock_timestamp() + ${LOGIN_LIFETIME_S}::int * interval '1 second'
    where (select count(*) from device_logins where expires_at > clock_timestamp()) < ${MOST_OPEN}
    on conflict do nothing returning 1`.execute(db)
  return made.rows.length > 0 ? { device_code: token, user_code: writeCode(user_code) } : null
}

/** As people read it: two groups of four. */
const writeCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/** As it is stored, however somebody typed it; `null` for what is no code. */
function readCode(typed: string): string | null {
  const code = typed.replace(/[\s-]/g, '').toUpperCase()
  return CODE.test(code) ? code : null
}

/** `null`: it is not known, was answered, or its time is over. */
export async function findLogin(db: Db, typed: string): Promise<WaitingLogin | null> {
  const found = await sql<WaitingLogin>`
    select user_code, client_name, address, created_at from device_logins
    where user_code = ${readCode(typed)} and granted is null and expires_at > clock_timestamp()`.execute(db)
  const [row] = found.rows
  return row ? { ...row, user_code: writeCode(row.user_code) } : null
}

/** Grants or refuses a login, once; false as above. */
export async function answerLogin(
  db: Db,
  typed: string,
  { key_id, granted }: { key_id: string; granted: boolean },
): Promise<boolean> {
  const answered = await sql`
    update device_logins set granted = ${granted}, key_id = ${key_id}::uuid
    where user_code = ${readCode(typed)} and granted is null and expires_at > clock_timestamp()
    returning 1`.execute(db)
  return answered.rows.length > 0
}

/**
 * What became of a login. One that was granted makes a key, with the role and the end of the key that granted it, if that one still
 * works, and no longer than it does; the login is gone then, so that of two who ask with one code one gets the key.
 */
export async function takeLogin(db: Db, device_code: string): Promise<LoginState> {
  const device_hash = hashOfToken(device_code)
  const found = await sql<{ granted: boolean | null }>`
    select granted from device_logins
    where device_hash = ${device_hash} and expires_at > clock_timestamp()`.execute(db)
  const [login] = found.rows
  if (!login) return { status: 'unknown' }
  return login.granted === null ? { status: 'pending' } : transact(db, (trx) => takeAnswer(trx, device_hash))
}

async function takeAnswer(trx: Db, device_hash: Buffer): Promise<LoginState> {
  const taken = await sql<{ granted: boolean; key_id: string; client_name: string }>`
    delete from device_logins where device_hash = ${device_hash} returning granted, key_id, client_name`.execute(
    trx,
  )
  const [answer] = taken.rows
  if (!answer) return { status: 'unknown' }
  const actor = answer.granted ? await readActor(trx, answer.key_id) : null
  if (!actor) return { status: 'refused' }
  const { client_name, key_id } = answer
  const expires_at = (await findKey(trx, key_id))?.expires_at
  const key = await addKey(trx, actor.principal_id, {
    ...{ name: `login from ${client_name}`, role: actor.role, granted_by: key_id },
    ...(expires_at ? { expires_at } : {}),
  })
  return key ? { status: 'granted', key, actor, client_name } : { status: 'refused' }
}

export const removeOldLogins = (db: Db): Promise<void> =>
  removeInParts(db, 'device_logins', sql`expires_at < clock_timestamp()`)
