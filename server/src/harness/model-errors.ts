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
import { storableText } from '../contract/storable-text.ts'
import {
  BROKEN_OFF,
  type BrokenAnswer,
  findBroken,
  findProviderError,
  NoCredentials,
  noStream,
  wasSilent,
} from './broken-answer.ts'
import type { MaskText } from './cut-text.ts'
import type { ModelCallFailure, Outcome } from './harness.ts'
import { variablesOf } from './model-variables.ts'
import {
  accessRefused,
  connectionCode,
  connectionRefused,
  creditGone,
  keyRefused,
  modelOutcome,
  proxyRefused,
  unreachable,
} from './provider-refusal.ts'
import { endSentence } from './sentence.ts'
import { saysTooLong } from './wire/overflow-words.ts'
import { type ProviderWords, readWords } from './wire/provider-words.ts'

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
/** Below 500, those by which the same request may be answered later. */
const PASSING = new Set([408, 409, 425, 429])
const SURELY_SPENT = /insufficient_quota|billing_not_active|credit balance/i
const PER_TIME = /per[ _-]?(second|minute|hour)|rate[ _-]?limit/i
const QUOTA =
  /insufficient[_ ](quota|credits?|balance|funds)|credit balance|(out of|no|run out of|enough) credits?\b|payment[_ ]required|billing_not_active|billing (hard )?limit|spending (cap|limit)|exceeded your current quota|quota[_ ](exceeded|exhausted)|budget has been exceeded|arrear|account is (not active|suspended|overdue)|\u4f59\u989d\u4e0d\u8db3/i
/** LiteLLM looks for keys that it does not know in a database, and answers 400 when it has none. */
const REFUSED_KEY =
  /invalid[_ ]api[_ -]?key|incorrect api key|api[_ -]?key (is |was )?(not valid|invalid|incorrect|expired|not found|missing|required|revoked|disabled)|api_key_invalid|authentication_error|no_db_connection|no auth credentials|(invalid|expired|missing|bad) ((auth\w*|bearer|access) (token|credentials?)|credentials?)|(auth\w*|bearer|access) token (is |was )?(invalid|expired)|unauthenticated|invalid x-api-key|security token included in the request is (invalid|expired)|signature we calculated does not match/i
/** With 401 these are about the key, whatever else is said: Azure speaks of an invalid subscription key, LiteLLM of its tables. */
const WRONG_KEY = /\b(invalid|incorrect|wrong|expired|revoked) ([\w-]+ ){0,3}(key|token)\b/i
/** LiteLLM answers 400, most others 404. */
const UNKNOWN_MODEL = /model_not_found|invalid model name|model .{0,200}(does not exist|not found)/i
/** 404 mostly means the model; OpenRouter also says with it that none of its servers can do what was asked. */
const NOT_THERE =
  /not[_ -]?found|does not exist|doesn't exist|no such|unknown|invalid (model|url)|cannot (get|post)|no route|not available|\bmodel\b.{0,100}\b(exist|deployed|loaded|pulled)/i
const POLICY =
  /content[_ ]policy|content[_ ]filter|content management policy|safety system|moderation|\b(was|were|been|is) flagged\b|inappropriate content|data_inspection_failed|(usage|content|safety|acceptable use) polic(y|ies)/i
const STRONGLY_REFUSED = /invalid_api_key|api_key_invalid/i
/** That somebody may not do it, and not that the key is wrong. */
const NOT_THE_KEY =
  /country|region|territory|location|unsupported_country|plan\b|subscription|tier|upgrade|firewall|cloudflare|attention required|blocked|access denied|not allowed to|permission|does not have access|allow-?list|whitelist|ip address|terms of|verif|scopes?\b|not enabled|disabled for|guardrail|privacy|data policy/i

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
export function judgeModelError(error: unknown, hide: MaskText, provider: string): ModelFailure {
  // Before anything is cut: of a key that is cut in two nothing is known.
  const failure = judge(error, hide, provider)
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

function judge(error: unknown, hide: MaskText, provider: string): ModelFailure {
  const cause = RetryError.isInstance(error) ? error.lastError : error
  const found = findBroken(cause)
  if (found) return broken(found)
  const told = findProviderError(cause)
  if (told) return judgeTold(readWords(hide(told.body)), provider)
  if (APICallError.isInstance(cause)) {
    const { statusCode: status, responseBody = '', responseHeaders } = cause
    // A connection that drops in mid-answer is reported as a failed call with the status of its success.
    if (status !== undefined && status < 300) return brokenStream('')
    if (status === undefined) return noConnection(provider, connectionCode(cause))
    const failure = judgeRefusal(
      { status, headers: responseHeaders, body: hide(responseBody || cause.message) },
      provider,
    )
    return failure.type === 'unknown_model'
      ? { ...failure, asked: addressOf(cause, provider, hide) }
      : failure
  }
  if (StreamProviderError.isInstance(cause)) {
    const { statusCode, code, type, message } = cause
    const words = readWords(hide(message))
    const status = statusCode ?? words.status
    const evidence = `${code} ${type} ${words.evidence}`
    return judgeTold({ ...words, evidence, ...(status !== undefined && { status }) }, provider)
  }
  // Not all tell of a failure in the way of their API.
  if (TypeValidationError.isInstance(cause))
    return judgeTold(readWords(hide(JSON.stringify(cause.value) ?? '')), provider)
  if (OURS.some((kind) => kind.isInstance(cause))) throw cause
  return brokenStream('')
}

/** The same for a call that an agent has made by the gateway. */
export function judgeModelCall(failure: ModelCallFailure, provider: string): ModelFailure {
  switch (failure.type) {
    case 'silent':
      return passing(wasSilent(failure.silent_ms).message)
    case 'unreachable':
      return noConnection(provider, failure.code)
    case 'unreadable': {
      const { status, content_type, is_empty } = failure
      const type = storableText(stripVTControlCharacters(content_type).slice(0, 100))
      return broken(noStream({ status, type, is_empty }))
    }
    case 'broken_off':
      return judgeTold(readWords(failure.body ?? ''), provider)
    case 'refused': {
      const judged = judgeRefusal(failure, provider)
      if (judged.type !== 'unknown_model') return judged
      const answer = `The model provider ${provider} answers ${failure.status} (check ${variablesOf(provider).address})`
      return { ...judged, asked: { is_api: parsesAsJson(failure.body), answer } }
    }
  }
}

/** An agent with a key of its own says in its own words why its provider refused; `null`: its words say nothing of that. */
export function judgeAgentWords(text: string): 'key' | 'credit' | null {
  const words = readWords(text)
  if (isSpent(words.status, words)) return 'credit'
  return REFUSED_KEY.test(words.evidence) && !NOT_THE_KEY.test(words.evidence) ? 'key' : null
}

/** In the place of an answer, or in the middle of one, that had begun as a success. */
function judgeTold(words: ProviderWords, provider: string): ModelFailure {
  const { status, message, wait_ms } = words
  const known = judgeKnown(status, words, provider)
  if (known) return known
  // It names a status, or a kind, by which the same request is refused again.
  if (status === undefined && /invalid_request_error/.test(words.evidence))
    return judgeStatus(400, words, provider)
  if (status !== undefined && status < 500 && !PASSING.has(status))
    return judgeStatus(status, words, provider)
  return { ...brokenStream(message), ...(wait_ms !== undefined && { wait_ms }) }
}

function judgeRefusal(
  { status, headers, body }: { status: number; headers?: Record<string, string> | undefined; body: string },
  provider: string,
): ModelFailure {
  const told = readWords(body)
  const wait_ms = readRetryAfter(headers) ?? told.wait_ms
  const words = { ...told, ...(wait_ms !== undefined && { wait_ms }) }
  return judgeKnown(status, words, provider) ?? judgeStatus(status, words, provider)
}

const final = (outcome: Outcome): ModelFailure => ({ type: 'final', outcome })

function noConnection(provider: string, code: string | undefined): ModelFailure {
  const lasting = connectionRefused(provider, code)
  return lasting ? final(lasting) : passing(unreachable(provider, code))
}

function isSpent(status: number | undefined, { evidence, wait_ms }: ProviderWords): boolean {
  // Google uses the same words for a limit by time, and says when it ends.
  const is_passing = wait_ms !== undefined || PER_TIME.test(evidence)
  const is_spent = QUOTA.test(evidence) && (SURELY_SPENT.test(evidence) || !(status === 429 && is_passing))
  return status === 402 || is_spent
}

/** Failures that mean the same wherever they turn up; providers agree on few statuses and fewer codes. */
function judgeKnown(status: number | undefined, words: ProviderWords, provider: string): ModelFailure | null {
  const { message, evidence } = words
  const said = quote(message)
  if (isSpent(status, words)) return final(creditGone(provider, said))
  if (status === 407) return final(proxyRefused(provider))
  if (isKeyRefused(status, words)) return final(keyRefused(provider))
  // Groq's words for a call that it could not read, of which another try may make another.
  if (/tool_use_failed/.test(evidence))
    return { ...passing(`The model provider could not read a call of the model${said}`), most: 2 }
  // With 429 the same words are about tokens per minute.
  if (status === 413 || (status !== 429 && saysTooLong(evidence))) {
    const text = `The conversation is longer than the model's context window${said}`
    return { type: 'overflow', outcome: modelOutcome('FAILED', text, 'invalid_request') }
  }
  if (POLICY.test(evidence) && status !== 429 && !(status !== undefined && status >= 500)) {
    const text = `The model provider refused the content of the conversation${said}`
    return final(modelOutcome('FAILED', text, 'content_policy_violation'))
  }
  if (status === 404 && message !== '' && !NOT_THERE.test(message)) return null
  const is_unknown = status === 404 || status === 405 || (status === 400 && UNKNOWN_MODEL.test(evidence))
  return is_unknown ? { type: 'unknown_model' } : null
}

/** 403 has many meanings: the key is one where words say so, or where there are none. */
function isKeyRefused(status: number | undefined, { message, evidence }: ProviderWords): boolean {
  if (STRONGLY_REFUSED.test(evidence)) return true
  if (status === 401)
    return REFUSED_KEY.test(evidence) || WRONG_KEY.test(evidence) || !NOT_THE_KEY.test(evidence)
  if (status === 403 && message === '') return true
  return REFUSED_KEY.test(evidence) && !(status === 403 && NOT_THE_KEY.test(evidence))
}

function addressOf(
  { url, statusCode, responseBody = '', message }: APICallError,
  provider: string,
  hide: MaskText,
): AskedAddress {
  const is_api = parsesAsJson(responseBody)
  const { origin, pathname } = new URL(url)
  const said = is_api ? quote(hide(message)).replace(/\.$/, '') : ''
  const place = `${origin}${pathname} (check ${variablesOf(provider).address})`
  return { is_api, answer: `The model provider ${provider} answers ${statusCode} at ${place}${said}` }
}

function parsesAsJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}

function judgeStatus(status: number, { message, wait_ms }: ProviderWords, provider: string): ModelFailure {
  const said = `(HTTP ${status})${quote(message)}`
  if (status >= 300 && status < 400) {
    const text = `The model provider answers with a redirect (HTTP ${status}), and none is followed. Is its address right?`
    return final(modelOutcome('FAILED', text, 'integration_not_configured'))
  }
  if (status === 429) return passing(`The model provider limits how often it is asked ${said}`, wait_ms)
  if (status >= 500 || PASSING.has(status))
    return passing(`The model provider is not available now ${said}`, wait_ms)
  if (status === 401 || status === 403) return final(accessRefused(provider, said))
  return final(modelOutcome('FAILED', `The model provider refused the request ${said}`, 'invalid_request'))
}

const passing = (message: string, wait_ms?: number): PassingFailure => ({
  type: 'passing',
  outcome: modelOutcome('ERROR', message, 'resource_unavailable', true),
  ...(wait_ms !== undefined && { wait_ms }),
})

function broken(answer: BrokenAnswer): PassingFailure {
  const { message, most } = answer
  const asked = passing(message)
  // A role of the machine may be late; one that never comes is for the operator to give.
  if (answer instanceof NoCredentials)
    asked.outcome = modelOutcome('FAILED', message, 'external_authentication_required')
  return { ...asked, ...(most !== undefined && { most }) }
}

const brokenStream = (message: string): PassingFailure => passing(`${BROKEN_OFF}${quote(message)}`)

/** The answer itself filled the window. */
export const CONTEXT_FULL: Overflow = {
  type: 'overflow',
  outcome: modelOutcome('FAILED', "The answer filled the model's context window.", 'invalid_request'),
}

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
