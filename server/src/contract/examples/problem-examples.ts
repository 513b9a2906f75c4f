import { ERRORS, type ErrorBody, type ErrorCode } from '../error.ts'
import { SERVICE } from './people.ts'

const DETAILS: Record<number, [code: ErrorCode, detail: string]> = {
  400: ['invalid_request', 'limit: must be a whole number from 1 to 500'],
  401: ['authentication_required', 'Send an API key: Authorization: Bearer ry_…'],
  403: ['not_authorized', 'This needs a grant for the pool gpu. An admin can give it: PUT /agent/grants.'],
  404: ['resource_not_found', 'There is no run with this id.'],
  409: ['conflict', 'The run is blocked: there is no turn to interrupt.'],
  413: ['invalid_request', 'The body is too large.'],
  414: ['invalid_request', 'A part of the path is too long.'],
  415: ['invalid_request', 'The body must be JSON: send Content-Type: application/json.'],
  422: ['invalid_request', 'This Idempotency-Key was used with another body.'],
  429: [
    'resource_unavailable',
    'Rate limit reached: 600 requests per minute for each person or service account, with all of its keys together.',
  ],
  431: ['invalid_request', 'The address or the headers are too large.'],
  500: ['internal_error', 'The service failed to handle this request.'],
  503: ['resource_unavailable', 'The database is away for the moment.'],
}

/** A problem document of each status, by the name that answers refer to it with. */
export const PROBLEM_EXAMPLES: Record<string, { value: ErrorBody }> = Object.fromEntries(
  Object.entries(DETAILS).map(([status, [code, detail]]) => [
    nameProblem(Number(status)),
    {
      value: {
        type: `${SERVICE}/docs/errors/${code}`,
        title: ERRORS[code].title,
        status: Number(status),
        error: `${ERRORS[code].title} (${detail})`,
        detail,
        instance: '/api/v1/agent/runs',
        retryable: ERRORS[code].retryable,
        trace_id: '6f1c1c52-7c0e-4a86-9a2e-0f6a3f0f8a11',
        error_code: code,
      },
    },
  ]),
)

export function nameProblem(status: number): string {
  return `problem_${status}`
}
