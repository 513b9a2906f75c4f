import { z } from 'zod'

/**
 * Every code an error may carry: one table for statuses, titles, retry advice and the pages under `/docs/errors`.
 * `help` is shown to people; it says what happened and what to do next.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    retryable: false,
    help: 'A field, parameter or header is missing, malformed or out of range. The detail names it and says what is allowed. Correct the request; repeating it unchanged gives the same answer.',
  },
  integration_not_configured: {
    status: 400,
    title: 'Integration not configured',
    retryable: false,
    help: 'The request needs something this installation has not been given, most often a model provider. The detail names the settings that would help.',
  },
  authentication_required: {
    status: 401,
    title: 'Authentication required',
    retryable: false,
    help: 'The API key is missing, malformed, unknown, expired or revoked. Send it as "Authorization: Bearer ry_…". In a run, the model provider refused the key the service is configured with.',
  },
  external_authentication_required: {
    status: 401,
    title: 'External authentication required',
    retryable: false,
    help: 'An external service needs an authorisation that the caller has not given yet.',
  },
  not_authorized: {
    status: 403,
    title: 'Not authorized',
    retryable: false,
    help: 'The key is valid, but its role or its principal may not do this.',
  },
  feature_not_available: {
    status: 403,
    title: 'Feature not available',
    retryable: false,
    help: 'This installation does not offer the feature, or its operator has turned it off.',
  },
  budget_exceeded: {
    status: 403,
    title: 'Budget exceeded',
    retryable: false,
    help: 'The run reached the cost, token, time or disk budget it was given. Tokens and time stay spent, so a follow-up ends the same way: to go on, create a run with the same conversation_id and a larger budget. Where it was disk, use less of it, or an environment with a larger limits.disk_mb.',
  },
  insufficient_credits: {
    status: 403,
    title: 'Insufficient credits',
    retryable: false,
    help: 'The model provider says that the account has no credit left.',
  },
  integration_disabled: {
    status: 403,
    title: 'Integration disabled',
    retryable: false,
    help: 'The integration exists but has been disabled; its owner can enable it again.',
  },
  content_policy_violation: {
    status: 403,
    title: 'Content policy violation',
    retryable: false,
    help: 'The model provider refused the content of the conversation.',
  },
  resource_not_found: {
    status: 404,
    title: 'Resource not found',
    retryable: false,
    help: 'There is nothing with this id or path, or the caller may not see it.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    retryable: true,
    help: 'The resource is in a state that does not allow this now, or another request is changing it. Read it again before repeating.',
  },
  operation_not_supported: {
    status: 422,
    title: 'Operation not supported',
    retryable: false,
    help: 'The request is well-formed, but the resource cannot do this.',
  },
  resource_unavailable: {
    status: 503,
    title: 'Resource unavailable',
    retryable: true,
    help: 'Something the request needs is away for the moment: the database, a worker, the model provider, or the service is stopping. Repeat after the time in Retry-After.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    retryable: true,
    help: 'A fault of the service. The trace_id finds it in the service log.',
  },
  environment_setup_failed: {
    status: 500,
    title: 'Environment setup failed',
    retryable: false,
    help: 'Cloning a repository or a setup command failed before the agent started. The status message holds the command, its exit code and the end of its output. Only runs carry this code.',
  },
} as const satisfies Record<string, { status: number; title: string; retryable: boolean; help: string }>

export type ErrorCode = keyof typeof ERRORS

const codes = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]
export const ErrorCode = z
  .enum(codes)
  .meta({ id: 'ErrorCode', description: 'Machine-readable kind of problem; stable.' })

/** The body of every error answer: RFC 9457 problem details with the fields of the shared wire format. */
export const ErrorBody = z
  .object({
    type: z.string().meta({ description: 'Address of the page about this kind of error.' }),
    title: z.string(),
    status: z.int(),
    error: z.string().meta({ description: '`title (detail)`, for people.' }),
    detail: z.string().optional(),
    instance: z.string().optional().meta({ description: 'The path that was asked for.' }),
    retryable: z.boolean().meta({ description: 'Whether the same request can succeed later.' }),
    trace_id: z.string().meta({ description: 'The request id; also in `X-Request-Id` and the service log.' }),
    error_code: ErrorCode,
    provider: z.string().optional(),
    auth_url: z.string().optional(),
  })
  .meta({ id: 'Error' })
export type ErrorBody = z.infer<typeof ErrorBody>

/**
 * A fault with a stable code. `status` and `retryable` default to the table; `headers` are added to the HTTP answer.
 * Thrown anywhere, caught only in `http/app.ts` and `worker/execute.ts`.
 */
export class AppError extends Error {
  override name = 'AppError'
  readonly code: ErrorCode
  readonly detail: string
  readonly status: number
  readonly retryable: boolean
  readonly headers: Record<string, string>
  constructor(
    code: ErrorCode,
    detail: string,
    overrides: {
      status?: number
      retryable?: boolean
      headers?: Record<string, string>
      cause?: unknown
    } = {},
  ) {
    super(`${ERRORS[code].title} (${detail})`, { cause: overrides.cause })
    this.code = code
    this.detail = detail
    this.status = overrides.status ?? ERRORS[code].status
    this.retryable = overrides.retryable ?? ERRORS[code].retryable
    this.headers = overrides.headers ?? {}
  }
}
