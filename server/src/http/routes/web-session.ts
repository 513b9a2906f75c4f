import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { readSignInLink, useSignInLink } from '../../store/sign-in-links.ts'
import {
  createWebSession,
  findWebSession,
  removeWebSession,
  type WebSession,
} from '../../store/web-sessions.ts'
import { SESSION_COOKIE, unauthenticated } from '../auth.ts'
import { ownerOf } from '../budget-owner.ts'
import type { Services } from '../context.ts'
import { requireOwnPage } from '../own-page.ts'
import { createPageCookie } from '../page-cookie.ts'
import { invalid } from '../problem.ts'
import { sendJson } from '../route.ts'

const PATH = '/web/session'
const SignIn = z.strictObject({
  token: z.string().max(256).optional(),
  /** The browser's user was asked, and agrees. */
  confirm: z.boolean().optional(),
})

/** Signing in to the page and out: its own paths, which are no part of the API. */
export function serveWebSession(app: FastifyInstance, services: Services): void {
  const { store, settings, access, limits } = services
  const { db } = store
  const cookie = createPageCookie(settings, SESSION_COOKIE)

  const onRequest = async (request: FastifyRequest): Promise<void> => {
    if (request.headers['x-runyard-page'] !== '1')
      throw unauthenticated('Only the page itself may ask this: X-Runyard-Page is missing.')
    requireOwnPage(request, settings.public_url)
  }
  const signIn = async (request: FastifyRequest): Promise<Actor> => {
    if (request.headers.authorization) return access.authenticate(request)
    const body = SignIn.safeParse(request.body ?? {})
    if (!body.success) throw invalid(body.error)
    const { token = '', confirm = false } = body.data
    if (!confirm) await requireOwnSession(request, token)
    const actor = await useSignInLink(db, token)
    return (
      actor ?? access.refuse(request, 'The link was used before, or its time is over. Ask for another one.')
    )
  }

  /**
   * Anybody may have sent the link, also to a browser without a session, so that what its user does next is done as somebody else.
   * The page asks first; the link stays good meanwhile.
   */
  const requireOwnSession = async (request: FastifyRequest, token: string): Promise<void> => {
    const own = cookie.read(request)
    const session = own === undefined ? null : await findWebSession(db, own)
    const link = await readSignInLink(db, token)
    if (!link || link.principal_id === session?.actor.principal_id) return
    const { host } = new URL(settings.public_url)
    const detail = `Sign in as ${link.principal_name ?? link.principal_id} on ${host}?`
    throw new AppError('conflict', detail, { retryable: false })
  }

  app.post(PATH, { bodyLimit: 4096, onRequest }, async (request, reply) => {
    request.actor = await signIn(request)
    reply.headers(await limits.take(ownerOf(request.actor), false))
    const before = cookie.read(request)
    if (before !== undefined) await removeWebSession(db, before)
    const token = await createWebSession(db, request.actor.key_id)
    const session = await findWebSession(db, token)
    if (!session) throw unauthenticated('The key was revoked just now.')
    cookie.set(reply, token)
    return sendJson(reply, 200, { session: viewSession(session) })
  })

  app.get(PATH, { onRequest }, async (request, reply) => {
    const token = cookie.read(request)
    if (token === undefined) throw unauthenticated('Nobody is signed in here.')
    const session = await findWebSession(db, token)
    if (!session) throw unauthenticated(OVER)
    reply.headers(await limits.take(ownerOf(session.actor), false))
    return sendJson(reply, 200, { session: viewSession(session) })
  })

  app.delete(PATH, { onRequest }, async (request, reply) => {
    const token = cookie.read(request)
    if (token !== undefined) {
      const session = await findWebSession(db, token)
      if (session) request.actor = session.actor
      await removeWebSession(db, token)
    }
    cookie.clear(reply)
    return reply.code(204).send()
  })
}

const OVER = 'The session was ended, its 12 hours are over, or its key does not work any more.'

const viewSession = ({ actor, ...session }: WebSession) => ({
  principal: { uid: actor.principal_id, name: session.principal_name, type: session.principal_type },
  role: actor.role,
  key_id: actor.key_id,
  key_name: session.key_name,
  expires_at: session.expires_at.toISOString(),
})
