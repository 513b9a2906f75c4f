import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { AppError, ERRORS, type ErrorBody } from '../contract/error.ts'
import { toAppError } from '../store/faults.ts'
import { ANSWER_HEADERS } from './answer-headers.ts'
import { readCallerLeft } from './caller-left.ts'

/** Sends the problem document of an error; whatever is not an AppError becomes one, and is logged, not shown. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  public_url: string,
): void {
  const problem = readCallerLeft(error, request) ?? fromFramework(error) ?? toAppError(error)
  if (problem.status >= 500) request.log.error({ err: problem.cause ?? problem }, problem.message)
  reply
    .code(problem.status)
    // A path that cannot be decoded gets here without having met a hook; another route may have set its own already.
    .headers(ANSWER_HEADERS)
    .headers(problem.headers)
    .header('x-request-id', request.id)
    .header('x-should-retry', String(problem.retryable))
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(JSON.stringify(problemBody(problem, request.id, request.url, public_url)))
}

export function problemBody(problem: AppError, trace_id: string, url: string, public_url: string): ErrorBody {
  const { title } = ERRORS[problem.code]
  return {
    type: `${public_url}/docs/errors/${problem.code}`,
    title,
    status: problem.status,
    error: problem.message,
    detail: problem.detail,
    instance: url.split('?', 1)[0] ?? url,
    retryable: problem.retryable,
    trace_id,
    error_code: problem.code,
  }
}

const FRAMEWORK: Record<string, (message: string) => AppError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new AppError('invalid_request', 'The body is too large.', { status: 413 }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new AppError('invalid_request', 'The body must be JSON: send Content-Type: application/json.', {
      status: 415,
    }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new AppError('invalid_request', 'The body is not as long as Content-Length says.'),
  FST_ERR_BAD_URL: () => new AppError('invalid_request', 'The path is not validly percent-encoded.'),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    new AppError('invalid_request', 'A part of the path is too long.', { status: 414 }),
  FST_ERR_ASYNC_CONSTRAINT: (message) => new AppError('invalid_request', message),
}

/** Errors of Fastify and Node that the caller can do something about. */
function fromFramework(error: unknown): AppError | null {
  if (!(error instanceof Error) || error instanceof AppError) return null
  const code = 'code' in error ? String(error.code) : ''
  const known = FRAMEWORK[code]
  if (known) return known(error.message)
  const status = 'statusCode' in error ? Number(error.statusCode) : 500
  if (status >= 400 && status < 500) return new AppError('invalid_request', error.message, { status })
  return null
}

/** A failed validation as an error that names each field: `config.mcp_servers.x: must have …`. */
export function invalid(error: z.ZodError): AppError {
  const shown = error.issues.slice(0, 5).map((issue) => {
    const path = issue.path.map(String).join('.')
    // What is wrong with a key says more than that one is.
    const message = (issue.code === 'invalid_key' && issue.issues[0]?.message) || issue.message
    return path ? `${path}: ${message}` : message
  })
  const more = error.issues.length - shown.length
  const tooLarge = error.issues.some((issue) => issue.code === 'custom' && issue.params?.status === 413)
  const detail = shown.join('; ') + (more > 0 ? `; and ${more} more` : '')
  return new AppError('invalid_request', detail, tooLarge ? { status: 413 } : {})
}
