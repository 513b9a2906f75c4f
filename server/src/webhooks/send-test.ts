import { TEST_BODY_MAX, type WebhookEvent } from '../contract/webhook.ts'
import type { CheckedFetch } from '../gateway/checked-fetch.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { openWebhookSecrets } from '../sealing/webhook-secrets.ts'
import { sendSigned } from './send-signed.ts'

export interface SentTest {
  response_status: number | null
  error: string | null
  duration_ms: number
  response_body: string | null
}

/** Sends one test event. Throws if the webhook's secret does not open with the keys that the service has. */
export async function sendTest(
  { keyring, fetch, version }: { keyring: Keyring; fetch: CheckedFetch; version: string },
  { webhook_id, url, sealed }: { webhook_id: string; url: string; sealed: Uint8Array },
  { id, event }: { id: string; event: WebhookEvent },
): Promise<SentTest> {
  const { current } = openWebhookSecrets(keyring, webhook_id, sealed)
  const began = performance.now()
  const { response_status, error, body } = await sendSigned(
    { fetch, version },
    { id, url, secrets: [current], event },
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
