import type { FastifyRequest } from 'fastify'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RouteDefinition } from '../contract/route.ts'
import { findActor, isWellFormedKey } from '../store/api-keys.ts'
import type { Db } from '../store/db.ts'
import { createFailureLimit } from './failure-limit.ts'

const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }

/** Finds who calls from the Authorization header, before any body is read. */
export function createAuthenticator(db: Db): (request: FastifyRequest) => Promise<Actor> {
  const failures = createFailureLimit('Too many requests with a bad key from this address.')

  const refuse = async (request: FastifyRequest, detail: string): Promise<never> => {
    await failures.count(request)
    throw new AppError('authentication_required', detail, CHALLENGE)
  }

  return async (request) => {
    const header = request.headers.authorization
    if (!header) return refuse(request, 'Send an API key: "Authorization: Bearer ry_…".')
    const [scheme = '', key = '', ...rest] = header.trim().split(/\s+/)
    if (scheme.toLowerCase() !== 'bearer' || !key || rest.length > 0) {
      return refuse(request, 'The Authorization header must be "Bearer" and a key.')
    }
    if (!isWellFormedKey(key))
      return refuse(request, 'The key is not complete: a character is missing or wrong.')
    return (await findActor(db, key)) ?? refuse(request, 'The key is unknown, expired or revoked.')
  }
}

/** Throws `not_authorized` where the role of the key is not enough for an operation. */
export function requireRole(
  { method, role, for_viewers }: Pick<RouteDefinition, 'method' | 'role' | 'for_viewers'>,
  actor: Actor,
): void {
  if (role && actor.role !== role)
    throw new AppError('not_authorized', `This takes a key with the role ${role}.`)
  if (method !== 'GET' && actor.role === 'viewer' && !for_viewers)
    throw new AppError('not_authorized', 'A key with the role viewer may only read.')
}
