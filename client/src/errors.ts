/**
 * What can go wrong:
 *
 *     RunyardError
 *     ├─ APIError                  the server answered with an error status
 *     │  ├─ BadRequestError            400
 *     │  ├─ AuthenticationError        401
 *     │  ├─ PermissionDeniedError      403
 *     │  ├─ NotFoundError              404
 *     │  ├─ ConflictError              409
 *     │  ├─ UnprocessableEntityError   422
 *     │  ├─ RateLimitError             429
 *     │  └─ InternalServerError        500 and above
 *     ├─ APIConnectionError        no answer
 *     │  └─ APITimeoutError            not within the timeout
 *     ├─ APIUserAbortError         the caller's signal fired
 *     ├─ APIResponseValidationError  the run's result is not what its output schema asks for
 *     ├─ RunFailedError            `runs.wait`: the run ended without success
 *     └─ WebhookVerificationError  `webhooks.unwrap`: not sent by the service, or too long ago
 */
import type { ProblemDetails, RunItem } from './schemas.ts'

export class RunyardError extends Error {
  /** The run that was waited for, if any: it exists, whatever went wrong since. */
  declare run_id?: string
  /** The key of the POST that failed, if it was one: sent again with it, the request has its effect once. */
  declare idempotency_key?: string

  static {
    // Messages and stacks name the class; set on prototypes so that it is no own property of each error.
    RunyardError.prototype.name = 'RunyardError'
  }
}

/** An error answer. `message` is a sentence for people; `code` is what programs should look at. */
export class APIError extends RunyardError {
  readonly status: number
  /** `error_code` of the problem document; absent when something in front of the service answered. */
  readonly code: ProblemDetails['error_code'] | undefined
  readonly title: string
  readonly detail: string | undefined
  /** Whether the same request can succeed later. */
  readonly retryable: boolean
  readonly request_id: string | undefined
  readonly trace_id: string | undefined
  /** The parsed body, or its text when it is no JSON. */
  readonly body: unknown
  /** The body as the problem document it is, when the service itself answered. */
  readonly problem: Partial<ProblemDetails> | undefined
  declare readonly headers: Headers

  constructor(answer: ErrorAnswer) {
    const { status, body, headers } = answer
    const problem = asProblem(body)
    super(problem?.detail ?? problem?.title ?? describeAnswer(answer))
    this.status = status
    this.code = problem?.error_code
    this.title = problem?.title ?? answer.status_text
    this.detail = problem?.detail
    this.retryable = problem?.retryable ?? isRetryableStatus(status)
    this.request_id = headers.get('x-request-id') ?? undefined
    this.trace_id = problem?.trace_id
    this.body = body
    this.problem = problem
    // Not shown when the error is: they may hold cookies.
    Object.defineProperty(this, 'headers', { value: headers, enumerable: false })
  }
}

export interface ErrorAnswer {
  status: number
  status_text: string
  body: unknown
  headers: Headers
}

export class BadRequestError extends APIError {}
export class AuthenticationError extends APIError {}
export class PermissionDeniedError extends APIError {}
export class NotFoundError extends APIError {}
export class ConflictError extends APIError {}
export class UnprocessableEntityError extends APIError {}
export class RateLimitError extends APIError {}
export class InternalServerError extends APIError {}

export class APIConnectionError extends RunyardError {}
export class APITimeoutError extends APIConnectionError {}
export class APIUserAbortError extends RunyardError {}

/** The run SUCCEEDED; `run` has the result as it came. */
export class APIResponseValidationError extends RunyardError {
  readonly run: RunItem

  constructor(message: string, run: RunItem, options?: ErrorOptions) {
    super(message, options)
    this.run = run
  }
}
export class WebhookVerificationError extends RunyardError {}

/** The run ended as FAILED, ERROR or CANCELLED; `run` is the run as it ended. */
export class RunFailedError extends RunyardError {
  readonly run: RunItem

  constructor(run: RunItem) {
    super(run.status_message?.message ?? `The run ended as ${run.state}.`)
    this.run = run
  }
}

const named = {
  APIError,
  BadRequestError,
  AuthenticationError,
  PermissionDeniedError,
  NotFoundError,
  ConflictError,
  UnprocessableEntityError,
  RateLimitError,
  InternalServerError,
  APIConnectionError,
  APITimeoutError,
  APIUserAbortError,
  APIResponseValidationError,
  RunFailedError,
  WebhookVerificationError,
}
// Written out as strings, since minifiers rename classes.
for (const [name, type] of Object.entries(named)) type.prototype.name = name

const BY_STATUS: Record<number, typeof APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
}

export function createApiError(answer: ErrorAnswer): APIError {
  const Type = BY_STATUS[answer.status] ?? (answer.status >= 500 ? InternalServerError : APIError)
  return new Type(answer)
}

export const isRetryableStatus = (status: number): boolean =>
  [408, 409, 429].includes(status) || status >= 500

/** `body` as a problem document (RFC 9457); something in front of the service may speak it as well, without our codes. */
function asProblem(body: unknown): Partial<ProblemDetails> | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const texts = ['error_code', 'title', 'detail'].map((name) => Reflect.get(body, name) as unknown)
  const is_problem =
    texts.some(Boolean) && texts.every((text) => typeof text === 'string' || text === undefined)
  return is_problem ? (body as Partial<ProblemDetails>) : undefined
}

function describeAnswer({ status, status_text, headers }: ErrorAnswer): string {
  // Without its query, which may be a signature.
  const location = headers.get('location')?.replace(/\?.*/, '')
  // Browsers hide a redirect that is not followed: its status reads 0.
  if (location || status === 0)
    return `The server redirects to ${location ?? 'another address'}, which is not followed. Is baseURL right?`
  return `The server answered ${status}${status_text ? ` ${status_text}` : ''} without saying why. Is baseURL right?`
}
