import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RouteDefinition } from '../contract/route.ts'
import { seal, unseal } from '../sealing/sealing.ts'
import { findKey } from '../store/api-keys.ts'
import type { Db } from '../store/db.ts'
import { once } from '../store/idempotency.ts'
import type { Services } from './context.ts'
import { type Call, SENT, sendJson } from './route.ts'

/** An answer of which a part is shown this once. */
export interface SecretAnswer {
  shown: Record<string, unknown>
  secret: Record<string, string>
}

/** How a secret of some kind is made and shown. */
interface SecretKind {
  /** What the stored answer is sealed for. */
  place: (shown: Record<string, unknown>) => string
  /** What was made, as a sentence begins. */
  what: string
  /** Default: 201. */
  status?: number
  /** Whether a repeated answer still says what is true; default: it does. */
  isCurrent?: (shown: Record<string, unknown>, secret: Record<string, string>) => Promise<boolean>
  /** The key that asked may be the one that was replaced, and hear again what replaced it. */
  replaces_caller?: boolean
}

/**
 * Sends a new secret. What is stored of the answer for its Idempotency-Key holds it sealed, never in clear: a copy of the
 * database gives nobody a key, and a caller who has lost the answer can still have it. Another key of the same person cannot, nor a
 * key that was replaced since: either may have leaked, or may do less than the key that asked.
 */
export async function sendSecret(
  { store, settings }: Services,
  call: Pick<Call<RouteDefinition>, 'actor' | 'idempotency' | 'reply'>,
  { place, what, status = 201, isCurrent, replaces_caller = false }: SecretKind,
  make: (db: Db) => Promise<SecretAnswer>,
): Promise<typeof SENT> {
  const { key_id } = call.actor
  const answer = await once(store.db, call.idempotency, async (db) => {
    const { shown, secret } = await make(db)
    const sealed = seal(settings.keyring, place(shown), secret).toString('base64')
    return { status, body: { shown, sealed, asked_by: key_id } }
  })
  const { shown, sealed, asked_by } = answer.body as {
    shown: Record<string, unknown>
    sealed: string
    asked_by: string
  }
  if (answer.replayed && asked_by !== key_id)
    throw conflict(
      `Another API key sent this Idempotency-Key first, and the answer holds a secret for that key alone. Send another Idempotency-Key.`,
    )
  if (answer.replayed && !replaces_caller) await requireCurrentKey(store.db, call.actor)
  const secret = open(settings, place(shown), sealed, what)
  if (answer.replayed) {
    if (isCurrent && !(await isCurrent(shown, secret)))
      throw conflict(`${what} was changed or deleted since, so its secret is not shown again.`)
    call.reply.header('idempotent-replayed', 'true')
  }
  sendJson(call.reply, answer.status, { ...shown, ...secret })
  return SENT
}

const conflict = (detail: string): AppError => new AppError('conflict', detail, { retryable: false })

/**
 * Throws `not_authorized` when the caller's key works only for its grace: keys are replaced because they may have leaked, and who
 * has the old one is not to get at the new one with it.
 */
export async function requireCurrentKey(db: Db, { key_id }: Actor): Promise<void> {
  if (!(await findKey(db, key_id))?.grace_until) return
  throw new AppError(
    'not_authorized',
    'This key was replaced: use the new one to make, rotate or revoke keys and to hear of secrets again.',
  )
}

function open(
  { keyring }: Services['settings'],
  place: string,
  sealed: string,
  what: string,
): Record<string, string> {
  try {
    return unseal(keyring, place, Buffer.from(sealed, 'base64'))
  } catch (cause) {
    throw new AppError(
      'conflict',
      `${what} was made, but cannot be shown again: RUNYARD_SECRET_KEY was replaced since. Revoke it and make another.`,
      { retryable: false, cause },
    )
  }
}
