/** What was posted to a trigger, as it is kept and as templates and filters see it. */
import { createHash } from 'node:crypto'
import { AppError } from '../contract/error.ts'
import { isRecord } from '../contract/storable-text.ts'
import type { TriggerVerification } from '../contract/trigger.ts'
import type { Sent } from '../intake/delivery.ts'
import { Mask } from '../sealing/mask.ts'
import type { Posted } from './hook-signature.ts'
import { checkValue, parseJson } from './json-body.ts'

const EVENT_HEADERS: Partial<Record<TriggerVerification, string>> = {
  github: 'x-github-event',
  gitlab: 'x-gitlab-event',
  linear: 'linear-event',
}
/** The first that is there. GitLab's event is the same for all that one hook brings about, its key of one delivery alone. */
const ID_HEADERS: Partial<Record<TriggerVerification, string[]>> = {
  standard_webhooks: ['webhook-id'],
  github: ['x-github-delivery'],
  gitlab: ['idempotency-key', 'x-gitlab-event-uuid'],
  linear: ['linear-delivery'],
}
/** Headers that prove something, or may. */
const PROVING = /authorization|cookie|signature|token|secret|api-?key|credential/
/** In one form. Slack sends a dozen, GitHub one. */
const MAX_FIELDS = 500
/** Separates fields. */
const AMPERSAND = 0x26
const MAX_ID_LENGTH = 256
const MAX_EVENT_LENGTH = 128

/** Throws where the body is no JSON that can be kept: an object or an array. */
export function readPayload({ headers, body }: Posted): unknown {
  const payload = readBody(headers['content-type'] ?? '', body)
  if (typeof payload === 'object' && payload !== null) return payload
  throw new AppError('invalid_request', 'The body must be a JSON object or array.')
}

/**
 * GitHub sends a form with JSON in one field unless it is told to send JSON, as Slack does for what is pressed and filled in. A
 * form without that field is what Slack sends for a command: its fields are the payload.
 */
function readBody(content_type: string, body: Buffer): unknown {
  if (!/^application\/x-www-form-urlencoded\b/i.test(content_type)) return parseJson(body)
  // Some say that JSON is a form.
  if (/^\s*[{[]/.test(body.subarray(0, 64).toString())) return parseJson(body)
  requireFewFields(body)
  const fields = new URLSearchParams(body.toString('utf8'))
  const field = fields.get('payload')
  if (field !== null) return parseJson(Buffer.from(field))
  const payload = Object.fromEntries(fields)
  checkValue(payload, 'The form')
  return payload
}

/** Counted before the form is parsed: two bytes are a field, and parsing a million of them takes ten seconds. */
function requireFewFields(body: Buffer): void {
  let fields = 1
  for (let at = body.indexOf(AMPERSAND); at !== -1; at = body.indexOf(AMPERSAND, at + 1)) {
    fields += 1
    if (fields > MAX_FIELDS)
      throw new AppError('invalid_request', `The form has more than ${MAX_FIELDS} fields.`, { status: 413 })
  }
}

/** The secret does not stay in it, wherever it stood. */
export function describeSent(
  verification: TriggerVerification,
  secret: string,
  posted: Posted,
  payload: unknown,
): Sent {
  const mask = new Mask([secret])
  const headers = Object.fromEntries(Object.entries(posted.headers).filter(([name]) => !PROVING.test(name)))
  return {
    event: eventOf(verification, posted.headers, payload)?.slice(0, MAX_EVENT_LENGTH) ?? null,
    sender_delivery_id: idOf(verification, posted, payload),
    replay_of: null,
    headers: mask.json(headers, 'kept'),
    payload: mask.json(payload, 'kept'),
  }
}

function eventOf(
  verification: TriggerVerification,
  headers: Posted['headers'],
  payload: unknown,
): string | null {
  const said = headers[EVENT_HEADERS[verification] ?? '']
  if (said !== undefined) return said
  if (!isRecord(payload)) return null
  const inner = isRecord(payload.event) ? payload.event.type : undefined
  const { command } = payload
  const name = verification === 'slack' && typeof command === 'string' ? command : undefined
  return [inner, payload.type, name].find((type) => typeof type === 'string') ?? null
}

/** The sender's own id of the delivery, else what tells bodies apart. */
function idOf(verification: TriggerVerification, { headers, body }: Posted, payload: unknown): string {
  const event_id = verification === 'slack' && isRecord(payload) ? payload.event_id : undefined
  const header = ID_HEADERS[verification]?.find((name) => headers[name])
  const id = typeof event_id === 'string' ? event_id : headers[header ?? '']
  if (id !== undefined && id !== '' && id.length <= MAX_ID_LENGTH) return id
  return `sha256:${createHash('sha256').update(body).digest('hex')}`
}
