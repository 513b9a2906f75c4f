import type { FastifyRequest } from 'fastify'
import { AppError } from '../contract/error.ts'

/** How Node names the end of a stream whose other side has gone. */
const BROKEN_OFF = new Set<unknown>([
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ECONNRESET',
  'EPIPE',
  'ABORT_ERR',
])

/**
 * What became of a request whose caller has gone; `null` for every other error. A caller may leave at any time, in the middle of a
 * body or of an answer, so that is no fault of the service. This is the only place that decides so.
 */
export function readCallerLeft(error: unknown, { raw }: Pick<FastifyRequest, 'raw'>): AppError | null {
  if (!(error instanceof Error) || !('code' in error) || !BROKEN_OFF.has(error.code)) return null
  return raw.socket.destroyed ? brokenOff() : null
}

export const brokenOff = (): AppError => new AppError('invalid_request', 'The request was broken off.')
