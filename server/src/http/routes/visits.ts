import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { RunId } from '../../contract/run-id.ts'
import type { Db } from '../../store/db.ts'
import { findRun } from '../../store/runs.ts'
import { findVisitor, visitByKey, visitByShareLink } from '../../store/visits.ts'
import { unauthenticated, visitCookie } from '../auth.ts'
import type { Services } from '../context.ts'
import { requireOwnPage } from '../own-page.ts'
import { createPageCookie } from '../page-cookie.ts'
import { invalid } from '../problem.ts'
import { isOpenByLink, type SessionLinks } from '../session-access.ts'

const Visit = z.strictObject({ run_id: RunId, token: z.string().min(1).max(256) })

/** Looking at one run without a key: the page trades the token of a link for a cookie that opens that run alone. */
export function serveVisits(app: FastifyInstance, services: Services): void {
  const { store, settings, access, sessions } = services

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
      const visit = await begin(store.db, sessions, run_id, token)
      const visitor = visit === null ? null : await findVisitor(store.db, run_id, visit)
      if (visit === null || !visitor)
        return access.refuse(request, 'The link is not valid, was revoked, or its time is over.')
      request.actor = visitor
      createPageCookie(settings, visitCookie(run_id)).set(reply, visit)
      return reply.code(204).send()
    },
  )
}

/** The token of a share link is one word, that of a `session_link` three. */
async function begin(db: Db, sessions: SessionLinks, run_id: string, token: string): Promise<string | null> {
  if (!token.includes('.')) return visitByShareLink(db, run_id, token)
  const actor = await sessions.findByLink(run_id, token)
  const run = actor && (await findRun(db, run_id, actor))
  return run && isOpenByLink(run) ? visitByKey(db, run_id, actor.key_id) : null
}
