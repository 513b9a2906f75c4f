import { stripVTControlCharacters } from 'node:util'
import {
  APICallError,
  InvalidArgumentError,
  InvalidDataContentError,
  InvalidMessageRoleError,
  InvalidPromptError,
  LoadAPIKeyError,
  LoadSettingError,
  MessageConversionError,
  MissingToolResultsError,
  RetryError,
  StreamProviderError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from 'ai'
import { z } from 'zod'
import type { ErrorCode } from '../contract/error.ts'
import { storableText } from '../contract/storable-text.ts'
import { BROKEN_OFF, type BrokenAnswer, findBroken, noStream, wasSilent } from './broken-answer.ts'
import type { MaskText } from './cut-text.ts'
import type { ModelCallFailure, Outcome } from './harness.ts'
import { endSentence } from './sentence.ts'

export type ModelFailure =
  /**
   * The provider is away, has too much to do, or broke its answer off: nothing was executed, so the step can be asked for
   * again. `wait_ms`: it said when. `most`: new tries, where more would not help. The outcome is for when none did.
   */
  | { type: 'passing'; outcome: Outcome; wait_ms?: number; most?: number }
  /** The provider does not know the model; the caller says which there are. */
  | { type: 'unknown_model'; asked?: AskedAddress }
  /** The conversation is too long for the model. The outcome is for where it cannot be made shorter. */
  | { type: 'overflow'; outcome: Outcome }
  /** Repeating it now gives the same. */
  | { type: 'final'; outcome: Outcome }

/** Where there was nothing: it may be the model that is not there, or the whole API. */
export interface AskedAddress {
  /** A sentence without its end. */
  answer: string
  /** It answered as APIs do. */
  is_api: boolean
}

export type PassingFailure = Extract<ModelFailure, { type: 'passing' }>
export type Overflow = Extract<ModelFailure, { type: 'overflow' }>
export type LastingFailure = Exclude<ModelFailure, PassingFailure | Overflow>

const MAX_DETAIL_CHARACTERS = 300
const OVERFLOW =
  /context[ _](length|window|size)|maximum context|prompt is too long|input token count|too many (input )?tokens|reduce the length/i
const QUOTA = /insufficient_quota|credit balance|insufficient (credits|balance)|payment required/i
/** LiteLLM looks for keys that it does not know in a database, and answers 400 when it has none. */
const REFUSED_KEY =
  /invalid_api_key|api[_ ]key (is )?(not valid|invalid|expired)|api_key_invalid|authentication_error|no_db_connection/i
/** LiteLLM answers 400, most others 404. */
const UNKNOWN_MODEL = /model_not_found|invalid model name|model .{0,200}(does not exist|not found)/i
const POLICY = /content_policy|content_filter|content management policy|safety system/i

const Told = z.object({
  message: z.string().optional().catch(undefined),
  code: z.union([z.string(), z.number()]).nullish().catch(undefined),
  type: z.string().nullish().catch(undefined),
})
const asTold = (message: string): z.infer<typeof Told> => ({ message })
/** Most have it in a field; Ollama as a text there, vLLM beside it, what is made with FastAPI as `detail`. */
const ProviderError = z.union([
  z.object({ error: z.union([Told, z.string().transform(asTold)]) }).transform(({ error }) => error),
  z.object({ detail: z.string() }).transform(({ detail }) => asTold(detail)),
  Told,
])

/** The SDK's word for requests that it could not make of what it was given: nobody was asked. */
const OURS = [
  InvalidArgumentError,
  InvalidDataContentError,
  InvalidMessageRoleError,
  InvalidPromptError,
  LoadAPIKeyError,
  LoadSettingError,
  MessageConversionError,
  MissingToolResultsError,
  UnsupportedFunctionalityError,
]

/**
 * Sorts what a model call failed with. Throws what is no failure of the provider; whatever else an answer makes the SDK
 * fail with is a broken answer. `hide` takes the key out of what a provider says; of a refused key nothing is told, since it may
 * be quoted in part.
 */
export function judgeModelError(error: unknown, hide: MaskText): ModelFailure {
  const failure = judge(error)
  if (failure.type === 'unknown_model') {
    const { asked } = failure
    return asked ? { ...failure, asked: { ...asked, answer: hide(asked.answer) } } : failure
  }
  const { outcome } = failure
  const { status_message } = outcome
  if (!status_message) return failure
  const message = hide(status_message.message)
  return { ...failure, outcome: { ...outcome, status_message: { ...status_message, message } } }
}

function judge(error: unknown): ModelFailure {
  const cause = RetryError.isInstance(error) ? error.lastError : error
  const found = findBroken(cause)
  if (found) return broken(found)
  if (APICallError.isInstance(cause)) {
    const { statusCode: status, responseBody = '' } = cause
    const { message = cause.message, code, type } = readError(responseBody)
    // A connection that drops in mid-answer is reported as a failed call with the status of its success.
    if (status !== undefined && status < 300) return brokenStream('')
    const known = judgeKnown(status, message, `${code} ${type} ${message}`)
    if (known?.type === 'unknown_model') return { ...known, asked: addressOf(cause) }
    return known ?? judgeStatus(status, message, readRetryAfter(cause.responseHeaders))
  }
  if (StreamProviderError.isInstance(cause)) {
    const { statusCode, code, type, message } = cause
    return judgeKnown(statusCode, message, `${code} ${type} ${message}`) ?? brokenStream(message)
  }
  // Not all tell of a failure in the way of their API.
  if (TypeValidationError.isInstance(cause))
    return judgeModelCall({ type: 'broken_off', body: JSON.stringify(cause.value) })
  if (OURS.some((kind) => kind.isInstance(cause))) throw cause
  return brokenStream('')
}

/** The same for a call that an agent has made by the gateway. */
export function judgeModelCall(failure: ModelCallFailure): ModelFailure {
  switch (failure.type) {
    case 'silent':
      return passing(wasSilent(failure.silent_ms).message)
    case 'unreachable':
      return passing(failure.message)
    case 'unreadable': {
      const { status, content_type, is_empty } = failure
      const type = storableText(stripVTControlCharacters(content_type).slice(0, 100))
      return broken(noStream({ status, type, is_empty }))
    }
    case 'broken_off': {
      const { message = '', code, type } = readError(failure.body ?? '')
      // Google says a status there.
      const status = typeof code === 'number' ? code : undefined
      return judgeKnown(status, message, `${code} ${type} ${message}`) ?? brokenStream(message)
    }
    case 'refused': {
      const { status, headers, body } = failure
      const { message = '', code, type } = readError(body)
      const known = judgeKnown(status, message, `${code} ${type} ${message || body}`)
      return known ?? judgeStatus(status, message, readRetryAfter(headers))
    }
  }
}

function readError(body: string): z.infer<typeof Told> {
  try {
    // Google answers with an array where it was to stream one.
    const [told] = [JSON.parse(body)].flat()
    return ProviderError.safeParse(told).data ?? {}
  } catch {
    return {}
  }
}

/** The outcome of a turn that a model call ended. */
export const modelOutcome = (
  state: 'FAILED' | 'ERROR',
  message: string,
  error_code: ErrorCode,
  retryable = false,
): Outcome => ({ state, status_message: { message, error_code, retryable } })

const final = (...outcome: Parameters<typeof modelOutcome>): ModelFailure => ({
  type: 'final',
  outcome: modelOutcome(...outcome),
})

/** Failures that mean the same wherever they turn up; providers agree on few statuses and fewer codes. */
function judgeKnown(status: number | undefined, message: string, evidence: string): ModelFailure | null {
  if (status === 401 || status === 403 || REFUSED_KEY.test(evidence)) {
    const text =
      'The model provider refused the key it was given. Check the key the service is configured with.'
    return final('ERROR', text, 'authentication_required')
  }
  const said = quote(message)
  if (status === 402 || QUOTA.test(evidence)) {
    return final(
      'FAILED',
      `The model provider says that the account has no credit left${said}`,
      'insufficient_credits',
    )
  }
  // With 429 the same words are about tokens per minute.
  if (status === 413 || (status !== 429 && OVERFLOW.test(evidence))) {
    const text = `The conversation is longer than the model's context window${said}`
    return { type: 'overflow', outcome: modelOutcome('FAILED', text, 'invalid_request') }
  }
  if (POLICY.test(evidence)) {
    return final(
      'FAILED',
      `The model provider refused the content of the conversation${said}`,
      'content_policy_violation',
    )
  }
  const is_unknown = status === 404 || status === 405 || (status === 400 && UNKNOWN_MODEL.test(evidence))
  return is_unknown ? { type: 'unknown_model' } : null
}

function addressOf({ url, statusCode, responseBody = '', message }: APICallError): AskedAddress {
  const is_api = parsesAsJson(responseBody)
  const { origin, pathname } = new URL(url)
  const said = is_api ? quote(message).replace(/\.$/, '') : ''
  return { is_api, answer: `The model provider answers ${statusCode} at ${origin}${pathname}${said}` }
}

function parsesAsJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

function judgeStatus(status: number | undefined, message: string, wait_ms: number | undefined): ModelFailure {
  const said = `(HTTP ${status})${quote(message)}`
  if (status === undefined) return passing('The model provider could not be reached.')
  if (status >= 300 && status < 400) {
    const text = `The model provider answers with a redirect (HTTP ${status}), and none is followed. Is its address right?`
    return final('FAILED', text, 'integration_not_configured')
  }
  if (status === 429) return passing(`The model provider limits how often it is asked ${said}`, wait_ms)
  if (status >= 500 || [408, 409, 425].includes(status))
    return passing(`The model provider is not available now ${said}`, wait_ms)
  return final('FAILED', `The model provider refused the request ${said}`, 'invalid_request')
}

const passing = (message: string, wait_ms?: number): PassingFailure => ({
  type: 'passing',
  outcome: modelOutcome('ERROR', message, 'resource_unavailable', true),
  ...(wait_ms !== undefined && { wait_ms }),
})

const broken = ({ message, most }: BrokenAnswer): PassingFailure => ({
  ...passing(message),
  ...(most !== undefined && { most }),
})

const brokenStream = (message: string): ModelFailure => passing(`${BROKEN_OFF}${quote(message)}`)

/** It said nothing at all, which is no answer to go on with. */
export const EMPTY_ANSWER: PassingFailure = { ...passing('The model answered with nothing.'), most: 2 }

/** https://www.rfc-editor.org/rfc/rfc9110#field.retry-after; OpenAI also says it in milliseconds. */
function readRetryAfter(headers: Record<string, string> = {}): number | undefined {
  const { 'retry-after-ms': exact, 'retry-after': told } = headers
  const milliseconds = exact !== undefined ? Number(exact) : Number(told) * 1_000
  const wait_ms = Number.isNaN(milliseconds) ? Date.parse(told ?? '') - Date.now() : milliseconds
  return Number.isFinite(wait_ms) ? Math.max(0, wait_ms) : undefined
}

/** The end of a sentence: what the provider said, where it said something. */
function quote(message: string): string {
  const whole = storableText(stripVTControlCharacters(message).trim())
  const is_long = whole.length > MAX_DETAIL_CHARACTERS
  const text = is_long ? `${whole.slice(0, MAX_DETAIL_CHARACTERS).trimEnd().toWellFormed()}…` : whole
  return text === '' ? '.' : `: ${endSentence(text)}`
}
