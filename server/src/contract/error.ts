import { z } from 'zod'

/**
 * Every code an error may carry: one table for statuses, titles and retry advice. What people read about each is in
 * `http/error-pages.ts`.
 */
export const ERRORS = {
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    retryable: false,
  },
  integration_not_configured: {
    status: 400,
    title: 'Integration not configured',
    retryable: false,
  },
  authentication_required: {
    status: 401,
    title: 'Authentication required',
    retryable: false,
  },
  external_authentication_required: {
    status: 401,
    title: 'External authentication required',
    retryable: false,
  },
  not_authorized: {
    status: 403,
    title: 'Not authorized',
    retryable: false,
  },
  feature_not_available: {
    status: 403,
    title: 'Feature not available',
    retryable: false,
  },
  budget_exceeded: {
    status: 403,
    title: 'Budget exceeded',
    retryable: false,
  },
  insufficient_credits: {
    status: 403,
    title: 'Insufficient credits',
    retryable: false,
  },
  integration_disabled: {
    status: 403,
    title: 'Integration disabled',
    retryable: false,
  },
  content_policy_violation: {
    status: 403,
    title: 'Content policy violation',
    retryable: false,
  },
  resource_not_found: {
    status: 404,
    title: 'Resource not found',
    retryable: false,
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    retryable: true,
  },
  operation_not_supported: {
    status: 422,
    title: 'Operation not supported',
    retryable: false,
  },
  resource_unavailable: {
    status: 503,
    title: 'Resource unavailable',
    retryable: true,
  },
  agent_stream_network_error: {
    status: 502,
    title: 'Agent stream network error',
    retryable: true,
  },
  agent_stream_failure: {
    status: 502,
    title: 'Agent stream failure',
    retryable: true,
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    retryable: true,
  },
  environment_setup_failed: {
    status: 500,
    title: 'Environment setup failed',
    retryable: false,
  },
} as const satisfies Record<string, { status: number; title: string; retryable: boolean }>

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
