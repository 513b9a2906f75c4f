import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { BUDGETS } from '../../budgets/budgets.ts'
import { RunId } from '../../contract/run-id.ts'
import type { Db } from '../../store/db.ts'
import { createCounter } from '../../store/request-counts.ts'
import { findRun } from '../../store/runs.ts'
import { findVisitLink, findVisitor, type VisitLink, visit } from '../../store/visits.ts'
import { unauthenticated, VISIT_COOKIE, visitCookie } from '../auth.ts'
import { ownerOf } from '../budget-owner.ts'
import type { Services } from '../context.ts'
import { requireOwnPage } from '../own-page.ts'
import { clearOldest, createPageCookie } from '../page-cookie.ts'
import { invalid } from '../problem.ts'
import { consume, refuseOver } from '../request-limits.ts'
import { isOpenByLink, type SessionLinks } from '../session-access.ts'

const Visit = z.strictObject({ run_id: RunId, token: z.string().min(1).max(256) })

/** Looking at one run without a key: the page trades the token of a link for a cookie that opens that run alone. */
export function serveVisits(app: FastifyInstance, services: Services): void {
  const { store, settings, access, sessions, limits } = services

  const begun = createCounter(store.db, 'visits', BUDGETS.visits.most)

  app.post(
    '/web/visits',
    {
      bodyLimit: 4096,
      onRequest: async (request) => {
        if (request.headers['x-runyard-page'] === undefined)
          throw unauthenticated('Only the page itself may ask this: X-Runyard-Page is missing.')
        requireOwnPage(request, settings.public_url)
      },
    },
    async (request, reply) => {
      const body = Visit.safeParse(request.body)
      if (!body.success) throw invalid(body.error)
      const { run_id, token } = body.data
      request.made_id = run_id
      const link = await findLink(store.db, sessions, run_id, token)
      if (!link) return access.refuse(request, OVER)
      const cookie = createPageCookie(settings, visitCookie(run_id))
      // A page that is loaded again goes on with its visit.
      const before = cookie.read(request)
      const known = before === undefined ? null : await findVisitor(store.db, run_id, before, link)
      const owner = ownerOf({ principal_id: link.principal_id, only_run_id: run_id })
      if (known) reply.headers(await limits.take(owner, false))
      else refuseOver(await consume(begun, owner), BUDGETS.visits)
      const value = known && before !== undefined ? before : await visit(store.db, run_id, link)
      const visitor = known ?? (await findVisitor(store.db, run_id, value))
      if (!visitor) return access.refuse(request, OVER)
      // Whoever loads the page again and again has come once, in the audit log, too.
      if (!known) request.actor = visitor
      // Each run has a cookie of its own, and a server refuses headers that are too long (431).
      clearOldest(settings, request, reply, { prefix: VISIT_COOKIE, most: BUDGETS.visit_cookies.most - 1 })
      cookie.set(reply, value)
      return reply.code(204).send()
    },
  )
}

const OVER = 'The link is not valid, was revoked, or its time is over.'

/** The token of a share link is one word, that of a `session_link` three. */
async function findLink(
  db: Db,
  sessions: SessionLinks,
  run_id: string,
  token: string,
): Promise<VisitLink | null> {
  if (!token.includes('.')) return findVisitLink(db, run_id, token)
  const actor = await sessions.findByLink(run_id, token)
  const run = actor && (await findRun(db, run_id, actor))
  if (!run || !isOpenByLink(run)) return null
  return { share_link_id: null, key_id: actor.key_id, principal_id: actor.principal_id }
}
