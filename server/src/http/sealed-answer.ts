import { AppError } from '../contract/error.ts'
import type { RouteDefinition } from '../contract/route.ts'
import { seal, unseal } from '../sealing/sealing.ts'
import type { Db } from '../store/db.ts'
import { once } from '../store/idempotency.ts'
import type { Services } from './context.ts'
import { type Call, SENT, sendJson } from './route.ts'

/** An answer of which a part is shown this once. */
export interface SecretAnswer {
  shown: Record<string, unknown>
  secret: Record<string, string>
}

/**
 * Sends a new secret. What is stored of the answer for its Idempotency-Key holds it sealed, never in clear: a copy of the
 * database gives nobody a key, and who has lost the answer can still have it. `what`: what was made, as a sentence begins.
 */
export async function sendSecret(
  { store, settings }: Services,
  call: Pick<Call<RouteDefinition>, 'idempotency' | 'reply'>,
  { place, what }: { place: (shown: Record<string, unknown>) => string; what: string },
  make: (db: Db) => Promise<SecretAnswer>,
): Promise<typeof SENT> {
  const answer = await once(store.db, call.idempotency, async (db) => {
    const { shown, secret } = await make(db)
    const sealed = seal(settings.keyring, place(shown), secret).toString('base64')
    return { status: 201, body: { ...shown, sealed } }
  })
  if (answer.replayed) call.reply.header('idempotent-replayed', 'true')
  const { sealed, ...shown } = answer.body as Record<string, unknown> & { sealed: string }
  sendJson(call.reply, answer.status, { ...shown, ...open(settings, place(shown), sealed, what) })
  return SENT
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
