import {
  AISDKError,
  APICallError,
  InvalidResponseDataError,
  JSONParseError,
  NoOutputGeneratedError,
  RetryError,
  StreamProviderError,
  TypeValidationError,
} from 'ai'
import { z } from 'zod'
import type { ErrorCode } from '../contract/error.ts'
import { storableText } from '../contract/storable-text.ts'
import type { Outcome } from './harness.ts'

export type ModelFailure =
  /** The stream broke after the provider had accepted the request: nothing was executed, so the step can be repeated. */
  | { type: 'broken'; outcome: Outcome }
  /** The provider does not know the model; the caller says which there are. */
  | { type: 'unknown_model' }
  /** Repeating it now gives the same. */
  | { type: 'final'; outcome: Outcome }

const MAX_DETAIL_CHARACTERS = 300
const OVERFLOW =
  /context[ _](length|window|size)|maximum context|prompt is too long|input token count|too many (input )?tokens|reduce the length/i
const QUOTA = /insufficient_quota|credit balance|insufficient (credits|balance)|payment required/i
const REFUSED_KEY =
  /invalid_api_key|api[_ ]key (is )?(not valid|invalid|expired)|api_key_invalid|authentication_error/i
const POLICY = /content_policy|content_filter|content management policy|safety system/i

const ProviderError = z.object({
  error: z.object({
    message: z.string().optional().catch(undefined),
    code: z.union([z.string(), z.number()]).nullish().catch(undefined),
    type: z.string().nullish().catch(undefined),
  }),
})

/**
 * Sorts what a model call failed with. Throws what is no failure of the provider. Messages never hold what a provider
 * says about a refused key, since it may quote the key.
 */
export function judgeModelError(error: unknown): ModelFailure {
  const cause = RetryError.isInstance(error) ? error.lastError : error
  if (APICallError.isInstance(cause)) {
    const { data: parsed } = ProviderError.safeParse(cause.data)
    const { message = cause.message, code, type } = parsed?.error ?? {}
    const { statusCode: status } = cause
    // A connection that drops in mid-answer is reported as a failed call with the status of its success.
    if (status !== undefined && status < 300) return brokenStream('')
    return judgeKnown(status, message, `${code} ${type} ${message}`) ?? judgeStatus(status, message)
  }
  if (StreamProviderError.isInstance(cause)) {
    const { statusCode, code, type, message } = cause
    return judgeKnown(statusCode, message, `${code} ${type} ${message}`) ?? brokenStream(message)
  }
  if (isBrokenStream(cause)) return brokenStream('')
  throw cause
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
    return final(
      'FAILED',
      `The conversation is longer than the model's context window${said}`,
      'invalid_request',
    )
  }
  if (POLICY.test(evidence)) {
    return final(
      'FAILED',
      `The model provider refused the content of the conversation${said}`,
      'content_policy_violation',
    )
  }
  return status === 404 ? { type: 'unknown_model' } : null
}

function judgeStatus(status: number | undefined, message: string): ModelFailure {
  if (status === undefined) {
    return final('ERROR', 'The model provider could not be reached.', 'resource_unavailable', true)
  }
  const said = `(HTTP ${status})${quote(message)}`
  return status >= 500 || [408, 409, 425, 429].includes(status)
    ? final('ERROR', `The model provider is not available now ${said}`, 'resource_unavailable', true)
    : final('FAILED', `The model provider refused the request ${said}`, 'invalid_request')
}

const brokenStream = (message: string): ModelFailure => ({
  type: 'broken',
  outcome: modelOutcome(
    'ERROR',
    `The model provider broke off its answer again and again${quote(message)}`,
    'resource_unavailable',
    true,
  ),
})

function isBrokenStream(error: unknown): boolean {
  const kinds = [InvalidResponseDataError, JSONParseError, NoOutputGeneratedError, TypeValidationError]
  if (kinds.some((kind) => kind.isInstance(error))) return true
  // A dropped connection is undici's, not the SDK's: "terminated", or a socket error as its cause.
  return (
    !AISDKError.isInstance(error) &&
    error instanceof TypeError &&
    ('cause' in error || error.message === 'terminated')
  )
}

function quote(message: string): string {
  const text = storableText(message.trim().slice(0, MAX_DETAIL_CHARACTERS))
  return text === '' ? '.' : `: ${text}`
}
