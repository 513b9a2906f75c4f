import type { FastifyRequest } from 'fastify'
import { AppError } from '../contract/error.ts'

/**
 * Refuses what another site has sent with a visitor's cookies, or to put its own session on a visitor. The page's own address
 * counts beside the public URL's, so that a service behind one can still be opened on its loopback address; `Host` has been
 * checked before. Browsers send no Origin with a GET of the same origin, and always one with what changes something.
 */
export function requireOwnPage(request: FastifyRequest, public_url: string): void {
  const { origin } = request.headers
  const site = request.headers['sec-fetch-site']
  const reads = request.method === 'GET' || request.method === 'HEAD'
  const is_own =
    origin === undefined
      ? reads
      : origin === new URL(public_url).origin || origin === `${request.protocol}://${request.host}`
  if (is_own && (site === undefined || site === 'same-origin')) return
  throw new AppError('not_authorized', 'The page of this service may ask this, and no other.')
}
