import type { Logger } from 'pino'
import type { CheckedFetch, CheckedRequest } from '../gateway/checked-fetch.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { openWebhookSecrets } from '../sealing/webhook-secrets.ts'
import type { Store } from '../store/db.ts'
import type { Watch } from '../store/watch.ts'
import {
  DELIVERIES_WAIT,
  type DueDelivery,
  type FailedAttempt,
  handBack,
  MAX_AT_ONCE,
  markDelivered,
  markFailed,
  takeDeliveries,
  viewEvent,
} from '../store/webhook-deliveries.ts'
import { startDraining } from './drain.ts'
import { signRequest } from './sign-request.ts'

/** Of one webhook. */
const MAX_EACH = 4
/** Between two tries, in seconds; the last one again and again. */
const PAUSES = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400]
const MAX_ERROR = 500

export interface PumpOptions {
  store: Store
  watch: Watch
  keyring: Keyring
  fetch: CheckedFetch
  version: string
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

async function deliver(
  { store, keyring, fetch, version }: PumpOptions,
  due: DueDelivery,
  cut: AbortSignal,
): Promise<void> {
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
  const body = JSON.stringify(viewEvent(due))
  const signed = signRequest(secrets, { id: due.delivery_id, sent_at: new Date(), body })
  const headers = {
    ...signed,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Runyard/${version}`,
  }
  const failure = await post(fetch, due.url, { headers, body, signal: cut })
  if (failure.error === null) return markDelivered(store.db, due, failure.response_status)
  if (cut.aborted) return handBack(store.db, due)
  const pause_ms = Math.max(pause_s, failure.retry_after ?? 0) * 1_000
  await markFailed(store.db, due, { ...failure, pause_ms })
}

type Posted =
  | { error: null; response_status: number }
  | (Omit<FailedAttempt, 'pause_ms'> & { retry_after: number | null })

async function post(
  fetch: CheckedFetch,
  url: string,
  request: Omit<CheckedRequest, 'method'>,
): Promise<Posted> {
  try {
    const answer = await fetch(url, { method: 'POST', ...request })
    const { status } = answer
    if (status >= 200 && status < 300) return { error: null, response_status: status }
    const error =
      status >= 300 && status < 400
        ? `The receiver answered with a redirect (${status}), which is not followed.`
        : `The receiver answered ${status}.`
    return { error, response_status: status, is_gone: status === 410, retry_after: readPause(answer) }
  } catch (failed) {
    const error = (failed instanceof Error ? failed.message : String(failed)).slice(0, MAX_ERROR)
    return { error, response_status: null, is_gone: false, retry_after: null }
  }
}

/** Seconds; a date, or more than an hour, is not waited for. */
function readPause(answer: Response): number | null {
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 && seconds <= 3_600 ? seconds : null
}
