import type { APIPromise } from './api-promise.ts'
import { RunyardError, WebhookVerificationError } from './errors.ts'
import { WebhookDeliveryList, WebhookList } from './lists.ts'
import { requestJson } from './request.ts'
import type {
  CreateWebhookRequest,
  ListDeliveriesParams,
  ListWebhooksParams,
  UpdateWebhookRequest,
  Webhook,
  WebhookDelivery,
  WebhookEvent,
  WebhookTest,
  WebhookWithSecret,
} from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/webhooks'
const pathOf = (webhook_id: string, ...rest: string[]): string[] => ['agent', 'webhooks', webhook_id, ...rest]

const TOLERANCE_SECONDS = 5 * 60

/** The headers of a request: `Headers` of any make, or a record, as Node has them. */
export type HeaderSource =
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** `client.webhooks`: addresses that changes of runs are sent to, and the check of what is sent there. */
export class Webhooks {
  readonly #transport: Transport
  readonly #secret: string | undefined

  constructor(transport: Transport, secret: string | undefined) {
    this.#transport = transport
    this.#secret = secret
  }

  /**
   * Has changes of runs sent to an address. `secret` of the answer is what they are signed with; besides `rotateSecret` no other
   * answer has it.
   */
  create(webhook: CreateWebhookRequest, options?: RequestOptions): APIPromise<WebhookWithSecret> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: webhook }, options)
  }

  /** One webhook. One that is not there, or is somebody else's own: `NotFoundError`. */
  retrieve(webhook_id: string, options?: RequestOptions): APIPromise<Webhook> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(webhook_id) }, options)
  }

  /**
   * `for await (const webhook of webhooks.list())` goes through all pages, newest first: those of the team, and your own.
   * `await webhooks.list()` is the first one, of up to 500, by default 50.
   */
  list(params: ListWebhooksParams = {}, options?: RequestOptions): WebhookList {
    return new WebhookList(this.#transport, { path: PATH, query: params }, options)
  }

  /**
   * Replaces what a webhook is made of: what is left out becomes the default, so one that was disabled is enabled unless
   * `enabled` is false. The secret stays.
   */
  update(webhook_id: string, webhook: UpdateWebhookRequest, options?: RequestOptions): APIPromise<Webhook> {
    const path = pathOf(webhook_id)
    return requestJson(this.#transport, { method: 'PUT', path, body: webhook }, options)
  }

  /** Deletes a webhook with what waits to be sent, and returns it as it was. */
  delete(webhook_id: string, options?: RequestOptions): APIPromise<Webhook> {
    return requestJson(this.#transport, { method: 'DELETE', path: pathOf(webhook_id) }, options)
  }

  /** Gives a webhook another secret. For 24 hours deliveries are signed with the one before as well. */
  rotateSecret(webhook_id: string, options?: RequestOptions): APIPromise<WebhookWithSecret> {
    const path = pathOf(webhook_id, 'rotate-secret')
    return requestJson(this.#transport, { method: 'POST', path }, options)
  }

  /**
   * Sends one signed event `webhook.test` now, enabled or not, and says what came back; `delivery.error` is why it did not go well.
   * Six in a minute, then `RateLimitError`.
   */
  test(webhook_id: string, options?: RequestOptions): APIPromise<WebhookTest> {
    return requestJson(this.#transport, { method: 'POST', path: pathOf(webhook_id, 'test') }, options)
  }

  /** What was sent, or waits to be, newest first; kept for 30 days. Pages as in `list`. */
  deliveries(
    webhook_id: string,
    params: ListDeliveriesParams = {},
    options?: RequestOptions,
  ): WebhookDeliveryList {
    const path = pathOf(webhook_id, 'deliveries')
    return new WebhookDeliveryList(this.#transport, { path, query: params }, options)
  }

  /**
   * Sends a delivery again, whatever became of it, under the same `webhook-id`. A webhook that is disabled:
   * `ConflictError`.
   */
  redeliver(webhook_id: string, delivery_id: string, options?: RequestOptions): APIPromise<WebhookDelivery> {
    const path = pathOf(webhook_id, 'deliveries', delivery_id, 'redeliver')
    return requestJson(this.#transport, { method: 'POST', path }, options)
  }

  /**
   * The event in a webhook's body, after its signature was checked as Standard Webhooks say
   * (https://github.com/standard-webhooks/standard-webhooks). `body` is the body as it came, unparsed: its text or its bytes; `secret` is the
   * `whsec_…` of the webhook, by default the client's `webhookSecret` or RUNYARD_WEBHOOK_SECRET. Not signed with it, changed
   * on its way, or more than five minutes old or ahead: `WebhookVerificationError`.
   */
  async unwrap(
    body: string | Uint8Array,
    headers: HeaderSource,
    secret = this.#secret,
  ): Promise<WebhookEvent> {
    const text = readBody(body)
    if (!secret) throw new RunyardError('A webhook secret is needed: pass one or set RUNYARD_WEBHOOK_SECRET.')
    const id = readHeader(headers, 'webhook-id')
    const timestamp = readHeader(headers, 'webhook-timestamp')
    const signatures = readHeader(headers, 'webhook-signature')
    if (!id || !timestamp || !signatures) {
      throw new WebhookVerificationError('The request lacks a header of a signed webhook.')
    }
    const age = Date.now() / 1000 - Number(timestamp)
    if (!/^\d+$/.test(timestamp) || Math.abs(age) > TOLERANCE_SECONDS) {
      throw new WebhookVerificationError('The webhook was not sent within the last five minutes.')
    }
    const key = await importKey(secret)
    const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
    // Several while the secret is being changed. `verify` compares in constant time.
    for (const [version, signature] of signatures.split(' ').map((part) => part.split(',', 2))) {
      const bytes = version === 'v1' ? fromBase64(signature ?? '') : undefined
      if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed))) return parseEvent(text)
    }
    throw new WebhookVerificationError('The webhook is not signed with this secret, or it was changed.')
  }
}

function importKey(secret: string) {
  const bytes = fromBase64(secret.replace(/^whsec_/, ''))
  if (!bytes?.length) throw new RunyardError('The webhook secret is not of the form whsec_….')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function readHeader(headers: HeaderSource, name: string): string | undefined {
  // Not `instanceof Headers`: polyfills have their own.
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? []
  return Array.isArray(value) ? value.join(' ') : value?.toString()
}

function readBody(body: unknown): string {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  throw new RunyardError('The body of a webhook is needed as it came, its text or its bytes, not parsed.')
}

function parseEvent(body: string): WebhookEvent {
  try {
    const event = JSON.parse(body) as Partial<WebhookEvent> | null
    if (typeof event?.type === 'string') return event as WebhookEvent
  } catch (cause) {
    throw new WebhookVerificationError('The webhook is signed, but its body is not JSON.', { cause })
  }
  throw new WebhookVerificationError('The webhook is signed, but its body is no event.')
}
