import type { Logger } from 'pino'
import type { Keyring } from '../sealing/keyring.ts'
import { openWebhookSecrets } from '../sealing/webhook-secrets.ts'
import type { Store } from '../store/db.ts'
import type { Watch } from '../store/watch.ts'
import {
  DELIVERIES_WAIT,
  type DueDelivery,
  handBack,
  MAX_AT_ONCE,
  markDelivered,
  markFailed,
  takeDeliveries,
  viewEvent,
} from '../store/webhook-deliveries.ts'
import { startDraining } from './drain.ts'
import { type Senders, sendOut } from './send-out.ts'

/** Of one webhook. */
const MAX_EACH = 4
/** Between two tries, in seconds; the last one again and again. */
const PAUSES = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400]

export interface PumpOptions extends Senders {
  store: Store
  watch: Watch
  keyring: Keyring
  log: Logger
}

/**
 * Sends what waits for webhooks until the function it returns is called. Any process may, several may at once. The rows are what
 * is to be done, so nothing is lost with a process; what it was sending is sent again.
 */
export function startPump(options: PumpOptions): () => Promise<void> {
  const { store, watch, log } = options
  const busy = new Map<string, number>()
  return startDraining<DueDelivery>({
    ...{ at_once: MAX_AT_ONCE, what: 'a webhook', watch, waits: DELIVERIES_WAIT, log },
    take: (limit) => takeDeliveries(store.db, { limit, limit_each: MAX_EACH, busy }),
    async send(due, cut) {
      busy.set(due.webhook_id, (busy.get(due.webhook_id) ?? 0) + 1)
      try {
        await deliver(options, due, cut)
      } finally {
        const left = (busy.get(due.webhook_id) ?? 1) - 1
        if (left > 0) busy.set(due.webhook_id, left)
        else busy.delete(due.webhook_id)
      }
    },
  })
}

async function deliver(options: PumpOptions, due: DueDelivery, cut: AbortSignal): Promise<void> {
  const { store, keyring } = options
  const pause = PAUSES[Math.min(due.tries, PAUSES.length) - 1] ?? 0
  // Those that failed together are not tried together.
  const pause_s = pause * (0.8 + 0.4 * Math.random())
  let secrets: string[]
  try {
    const { current, previous } = openWebhookSecrets(keyring, due.webhook_id, due.sealed)
    secrets = previous !== undefined && due.signs_twice ? [current, previous] : [current]
  } catch {
    const error = 'Its secret does not open with the keys that the service has: change it.'
    await markFailed(store.db, due, {
      response_status: null,
      error,
      is_gone: false,
      pause_ms: pause_s * 1_000,
    })
    return
  }
  const answer = await sendOut(options, { ...due, secrets, event: viewEvent(due, options.public_url()) }, cut)
  const { error, response_status, is_gone } = answer
  if (error === null) return markDelivered(store.db, due, response_status)
  if (cut.aborted) return handBack(store.db, due)
  const pause_ms = Math.max(pause_s, answer.retry_after ?? 0) * 1_000
  await markFailed(store.db, due, { error, response_status, is_gone, pause_ms })
}
