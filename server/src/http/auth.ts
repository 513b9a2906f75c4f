import type { FastifyRequest } from 'fastify'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RouteDefinition } from '../contract/route.ts'
import { isUuid } from '../contract/run-id.ts'
import { findActor, isWellFormedKey } from '../store/api-keys.ts'
import type { Db } from '../store/db.ts'
import { SharedQuestion } from '../store/shared-question.ts'
import { findVisitor } from '../store/visits.ts'
import { findWebSession } from '../store/web-sessions.ts'
import { createFailureLimit } from './failure-limit.ts'
import { requireOwnPage } from './own-page.ts'
import { createPageCookie } from './page-cookie.ts'

const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }
export const SESSION_COOKIE = 'runyard_session'
export const VISIT_COOKIE = 'runyard_visit_'
export const visitCookie = (run_id: string): string => VISIT_COOKIE + run_id

/** Who asks, from what a request is sent with, before any body is read. */
export interface Authenticator {
  /**
   * The Authorization header, else a cookie of the page with its header `X-Runyard-Page`, `1` or `visit RUN_ID`, without which a cookie says nothing:
   * no other site can send that header. Throws `authentication_required`, and `not_authorized` where another site asks.
   */
  authenticate(request: FastifyRequest): Promise<Actor>
  /** Only for a pool key. Throws `authentication_required`, and `not_authorized` for other keys. */
  authenticatePoolKey(request: FastifyRequest): Promise<Actor>
  /** Whether what a request was sent with is still good: streams ask again and again. */
  isStillAllowed(request: FastifyRequest): Promise<boolean>
  /** Counts a failure of the address, and throws `authentication_required`. */
  refuse(request: FastifyRequest, detail: string): Promise<never>
}

const POOL_KEY =
  'This is a pool key: workers claim runs with it (runyard worker --server), and it opens nothing else. Use an API key here.'

const NO_POOL_KEY = 'This takes a pool key: make one with runyard keys create --pool POOL.'

/** Why nobody is known. */
interface Refusal {
  refusal: string
  /** No guess at a secret: an old cookie, which a browser sends by itself with everything a page asks. */
  is_harmless?: true
}

export function createAuthenticator(db: Db, settings: { readonly public_url: string }): Authenticator {
  const failures = createFailureLimit('Too many requests with a bad key from this address.')
  const session_cookie = createPageCookie(settings, SESSION_COOKIE)
  // Most requests at one time are of few keys.
  const actors = new SharedQuestion(
    (key: string) => key,
    (key) => findActor(db, key),
  )

  const refuse = async (request: FastifyRequest, detail: string): Promise<never> => {
    await failures.count(request)
    throw unauthenticated(detail)
  }

  const findByKey = async (header: string): Promise<Actor | Refusal> => {
    const [scheme = '', key = '', ...rest] = header.trim().split(/\s+/)
    if (scheme.toLowerCase() !== 'bearer' || !key || rest.length > 0)
      return { refusal: 'The Authorization header must be "Bearer" and a key.' }
    if (!isWellFormedKey(key)) return { refusal: 'The key is not complete: a character is missing or wrong.' }
    return (await actors.ask(key)) ?? { refusal: 'The key is unknown, expired or revoked.' }
  }

  const findByCookie = async (request: FastifyRequest): Promise<Actor | Refusal> => {
    requireOwnPage(request, settings.public_url)
    const token = session_cookie.read(request)
    const session = token === undefined ? null : await findWebSession(db, token)
    return session?.actor ?? { refusal: 'Nobody is signed in here, or no longer.', is_harmless: true }
  }

  const findByVisit = async (request: FastifyRequest, run_id: string): Promise<Actor | Refusal> => {
    requireOwnPage(request, settings.public_url)
    const token = createPageCookie(settings, visitCookie(run_id)).read(request)
    const visitor = token === undefined ? null : await findVisitor(db, run_id, token)
    if (visitor) return visitor
    return { refusal: 'This run was not opened here, or the link that opened it is over.', is_harmless: true }
  }

  const find = async (request: FastifyRequest): Promise<Actor | Refusal> => {
    const { authorization } = request.headers
    if (authorization) return findByKey(authorization)
    const page = request.headers['x-runyard-page']
    if (page === '1') return findByCookie(request)
    const [word, run_id = ''] = typeof page === 'string' ? page.split(' ') : []
    if (word === 'visit' && isUuid(run_id)) return findByVisit(request, run_id)
    return { refusal: 'Send an API key: "Authorization: Bearer ry_…".' }
  }

  return {
    refuse,
    authenticate: async (request) => {
      const found = await find(request)
      if ('pool' in found) throw new AppError('not_authorized', POOL_KEY)
      if (!('refusal' in found)) return found
      if (found.is_harmless) throw unauthenticated(found.refusal)
      return refuse(request, found.refusal)
    },
    authenticatePoolKey: async (request) => {
      const found = await findByKey(request.headers.authorization ?? '')
      if ('refusal' in found) return refuse(request, found.refusal)
      if (found.pool === undefined) throw new AppError('not_authorized', NO_POOL_KEY)
      return found
    },
    isStillAllowed: async (request) => !('refusal' in (await find(request))),
  }
}

export const unauthenticated = (detail: string): AppError =>
  new AppError('authentication_required', detail, CHALLENGE)

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
