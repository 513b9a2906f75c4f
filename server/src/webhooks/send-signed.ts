import type { WebhookEvent } from '../contract/webhook.ts'
import type { CheckedFetch } from '../gateway/checked-fetch.ts'
import { signRequest } from './sign-request.ts'

const MAX_ERROR = 500

/** What came back; `error` says why it did not go well. */
export type Sent = { is_gone: boolean; retry_after: number | null; body: string } & (
  | { error: null; response_status: number }
  | { error: string; response_status: number | null }
)

/** Sends an event once, signed with each of the secrets. */
export async function sendSigned(
  { fetch, version, signal }: { fetch: CheckedFetch; version: string; signal?: AbortSignal },
  { id, url, secrets, event }: { id: string; url: string; secrets: readonly string[]; event: WebhookEvent },
): Promise<Sent> {
  const body = JSON.stringify(event)
  const headers = {
    ...signRequest(secrets, { id, sent_at: new Date(), body }),
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `Runyard/${version}`,
  }
  try {
    const answer = await fetch(url, { method: 'POST', headers, body, ...(signal ? { signal } : {}) })
    const { status } = answer
    const heard = { response_status: status, is_gone: status === 410, retry_after: readPause(answer) }
    return { ...heard, error: explain(status), body: await answer.text() }
  } catch (failed) {
    const error = (failed instanceof Error ? failed.message : String(failed)).slice(0, MAX_ERROR)
    return { error, response_status: null, is_gone: false, retry_after: null, body: '' }
  }
}

function explain(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400
    ? `The receiver answered with a redirect (${status}), which is not followed.`
    : `The receiver answered ${status}.`
}

/** Seconds; a date, or more than an hour, is not waited for. */
function readPause(answer: Response): number | null {
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 && seconds <= 3_600 ? seconds : null
}
