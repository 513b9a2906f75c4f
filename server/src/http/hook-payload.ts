/** What was posted to a trigger, as it is kept and as templates and filters see it. */
import { createHash } from 'node:crypto'
import { AppError } from '../contract/error.ts'
import { isRecord } from '../contract/storable-text.ts'
import type { TriggerVerification } from '../contract/trigger.ts'
import type { Sent } from '../intake/delivery.ts'
import { at } from '../intake/pull-request-of.ts'
import { Mask } from '../sealing/mask.ts'
import { MAX_HOOK_TOKENS } from './body-size.ts'
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
  if (!/^application\/x-www-form-urlencoded\b/i.test(content_type)) return parseJson(body, MAX_HOOK_TOKENS)
  // Some say that JSON is a form.
  if (/^\s*[{[]/.test(body.subarray(0, 64).toString())) return parseJson(body, MAX_HOOK_TOKENS)
  requireFewFields(body)
  const fields = new URLSearchParams(body.toString('utf8'))
  const field = fields.get('payload')
  if (field !== null) return parseJson(Buffer.from(field), MAX_HOOK_TOKENS)
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
  const event = eventOf(verification, posted.headers, payload)?.slice(0, MAX_EVENT_LENGTH) ?? null
  // Prompts and filters see the event that the body is of, whatever the header says.
  const event_header = EVENT_HEADERS[verification]
  const headers = Object.fromEntries(
    Object.entries(posted.headers).flatMap(([name, value]) => {
      if (PROVING.test(name)) return []
      if (name !== event_header) return [[name, value]]
      return event === null ? [] : [[name, event]]
    }),
  )
  const sender_delivery_id = idOf(verification, posted, payload)
  return {
    ...{ event, sender_delivery_id },
    signed_as: signedAs(verification, posted, payload) ?? sender_delivery_id,
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
  if (verification === 'github') return githubEvent(payload, said)
  if (verification === 'linear' && isRecord(payload) && typeof payload.type === 'string') return payload.type
  if (said !== undefined) return said
  if (!isRecord(payload)) return null
  const inner = isRecord(payload.event) ? payload.event.type : undefined
  const { command } = payload
  const name = verification === 'slack' && typeof command === 'string' ? command : undefined
  return [inner, payload.type, name].find((type) => typeof type === 'string') ?? null
}

/** What the bodies of GitHub's events have, the most telling first; of all others the header alone says what they are. */
const GITHUB_EVENTS: ReadonlyArray<readonly [event: string, ...fields: string[]]> = [
  ['ping', 'zen'],
  ['pull_request_review', 'pull_request', 'review'],
  ['pull_request_review_thread', 'pull_request', 'thread'],
  ['pull_request_review_comment', 'pull_request', 'comment'],
  ['issue_comment', 'issue', 'comment'],
  ['pull_request', 'pull_request'],
  ['issues', 'issue'],
  ['push', 'ref', 'before', 'after'],
]

/** GitHub signs the body, not the name of its event. */
function githubEvent(payload: unknown, said: string | undefined): string | null {
  const fits = GITHUB_EVENTS.find(([, ...fields]) => fields.every((name) => at(payload, name) !== undefined))
  if (fits) return fits[0]
  // What is called a ping starts nothing, so the name alone does not make one.
  return said === undefined || said === 'ping' ? null : said
}

/** Events that somebody may bring about again and again with the same body, to the letter; the action, or fields. */
const isRepeatable = (payload: unknown): boolean =>
  ['rerequested', 'requested_action'].includes(String(at(payload, 'action'))) ||
  at(payload, 'client_payload') !== undefined ||
  (at(payload, 'workflow') !== undefined && at(payload, 'inputs') !== undefined)

/**
 * What was signed, where the sender signs the body alone: the same body under another id is the same delivery, also when the secret
 * was changed meanwhile. Linear signs the time of each try with it. `null`: the id is signed, too, or nothing is.
 */
function signedAs(
  verification: TriggerVerification,
  { headers, body }: Posted,
  payload: unknown,
): string | null {
  if (verification === 'linear') {
    const { webhookTimestamp: _, ...said } = isRecord(payload) ? payload : {}
    return `signed:${sha256(JSON.stringify(said))}`
  }
  if (verification !== 'github') return null
  const also = isRepeatable(payload) ? `:${sha256(headers['x-github-delivery'] ?? '')}` : ''
  return `signed:${sha256(body)}${also}`
}

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** The sender's own id of the delivery, else what tells bodies apart. */
function idOf(verification: TriggerVerification, { headers, body }: Posted, payload: unknown): string {
  const event_id = verification === 'slack' && isRecord(payload) ? payload.event_id : undefined
  const header = ID_HEADERS[verification]?.find((name) => headers[name])
  const id = typeof event_id === 'string' ? event_id : headers[header ?? '']
  if (id === undefined || id === '') return `sha256:${sha256(body)}`
  return id.length <= MAX_ID_LENGTH ? id : `sha256:${sha256(id)}`
}
