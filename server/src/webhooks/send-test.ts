import { TEST_BODY_MAX } from '../contract/webhook.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { openWebhookSecrets } from '../sealing/webhook-secrets.ts'
import { type Outgoing, type Senders, sendOut } from './send-out.ts'

/** Somebody waits for the answer: much less than a letter may take. */
const LIMIT_MS = 60_000

export interface SentTest {
  response_status: number | null
  error: string | null
  duration_ms: number
  response_body: string | null
}

/** Sends one test event. Throws if the webhook's secret does not open with the keys that the service has. */
export async function sendTest(
  senders: Senders & { keyring: Keyring },
  { sealed, ...outgoing }: Omit<Outgoing, 'secrets'> & { sealed: Uint8Array },
): Promise<SentTest> {
  const { current } = openWebhookSecrets(senders.keyring, outgoing.webhook_id, sealed)
  const began = performance.now()
  const { response_status, error, body } = await sendOut(
    senders,
    { ...outgoing, secrets: [current] },
    AbortSignal.timeout(LIMIT_MS),
  )
  const duration_ms = Math.round(performance.now() - began)
  return { response_status, error, duration_ms, response_body: response_status === null ? null : clean(body) }
}

/** What a receiver says may be anything: what a terminal or a database would take for more than text goes. */
const clean = (text: string): string =>
  text
    .replace(/[^\P{C}\n\t]/gu, '')
    .trim()
    .slice(0, TEST_BODY_MAX)
    .toWellFormed()
