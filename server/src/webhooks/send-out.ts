import { readMailto, type WebhookEvent, type WebhookFormat } from '../contract/webhook.ts'
import type { CheckedFetch } from '../gateway/checked-fetch.ts'
import { CHATS } from './chat-text.ts'
import { writeLetter } from './letter.ts'
import type { Mailer } from './mailer.ts'
import { messageOf } from './message.ts'
import { signRequest } from './sign-request.ts'

const MAX_ERROR = 500

/** What came back; `error` says why it did not go well. */
export type Sent = { is_gone: boolean; retry_after: number | null; body: string } & (
  | { error: null; response_status: number }
  | { error: string; response_status: number | null }
)

export interface Senders {
  fetch: CheckedFetch
  /** `null`: e-mail is not set up. */
  mail: Mailer | null
  version: string
  /** What links are made of. */
  public_url: () => string
}

/** An event on its way to a webhook. */
export interface Outgoing {
  delivery_id: string
  webhook_id: string
  url: string
  format: WebhookFormat
  scope: 'User' | 'Team'
  /** Who gave the webhook its address. */
  set_up_by: string
  secrets: readonly string[]
  event: WebhookEvent
}

/** Sends an event once, in the form that the webhook wants. */
export function sendOut(senders: Senders, outgoing: Outgoing, signal?: AbortSignal): Promise<Sent> {
  const { format, event } = outgoing
  if (format === 'email') return sendLetter(senders, outgoing, signal)
  const body = JSON.stringify(format === 'runyard' ? event : CHATS[format](messageOf(event)))
  return post(senders, outgoing, body, signal)
}

async function sendLetter(
  { mail, public_url }: Senders,
  outgoing: Outgoing,
  signal: AbortSignal | undefined,
): Promise<Sent> {
  const { delivery_id, webhook_id, url, scope, set_up_by, event } = outgoing
  // Whoever gets the letters of somebody's personal webhook cannot open its page.
  const page = scope === 'Team' ? `${public_url()}/webhooks/${webhook_id}` : null
  const to = readMailto(url)?.address
  const { run_id } = event.data
  const { error, response_status, body } =
    mail && to
      ? await mail(
          writeLetter(messageOf(event), { page, set_up_by }),
          { to, delivery_id, run_id, page },
          signal,
        )
      : {
          error: mail ? 'Letters do not go to such an address.' : 'E-mail is not set up here.',
          response_status: null,
          body: '',
        }
  const rest = { is_gone: false, retry_after: null, body }
  return error === null
    ? { ...rest, error, response_status: response_status ?? 250 }
    : { ...rest, error, response_status }
}

async function post(
  { fetch, version }: Senders,
  { delivery_id: id, url, secrets }: Outgoing,
  body: string,
  signal: AbortSignal | undefined,
): Promise<Sent> {
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
