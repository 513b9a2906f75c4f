import { readFileSync } from 'node:fs'
import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { isUuid } from '../../contract/run-id.ts'
import { wholeNumber } from '../../contract/whole-number.ts'
import { findRun, type RunRow } from '../../store/runs.ts'
import { unauthenticated } from '../auth.ts'
import type { Services } from '../context.ts'
import { requireOwnPage } from '../own-page.ts'
import { html, PAGE_HEADERS, sendPage } from '../page.ts'
import { invalid } from '../problem.ts'
import { sendJson } from '../route.ts'
import { viewRun } from '../run-view.ts'
import { StreamLimit } from '../stream-limit.ts'
import { WEB_ROOT } from '../web-files.ts'
import { lastEventId, openStream, STREAM_HEADERS } from './events.ts'
import { requireRun } from './runs.ts'

const STREAMS_PER_SESSION = 50
const AccessBody = z.object({ token: z.string().max(256).optional() })
const EventsQuery = z.object({ after: wholeNumber(0, Number.MAX_SAFE_INTEGER).optional() })

type SessionRoute = { Params: { session_id: string } }

/**
 * One run's live page. The page itself holds nothing of the run and is served to all; what it shows comes from the two
 * data paths, which take the cookie of that one session and nothing else.
 */
export function serveSessions(app: FastifyInstance, services: Services): void {
  const { store, settings, sessions } = services
  const { db } = store
  const page = readFileSync(new URL('session/session.html', WEB_ROOT), 'utf8')
  // Asked for at each use: the port may be known only once the service listens.
  const isSecure = () => settings.public_url.startsWith('https:')
  const cookieName = () => `${isSecure() ? '__Secure-' : ''}runyard_session`
  const streams = new StreamLimit(STREAMS_PER_SESSION)
  // The cookie must not renew itself for ever through fresh links, so this page's view of a run holds none.
  const plainLink = ({ run_id }: { run_id: string }) => `${settings.public_url}/sessions/${run_id}`

  const findVisitor = async (request: FastifyRequest<SessionRoute>): Promise<Actor | null> => {
    const value = parseCookie(request.headers.cookie ?? '')[cookieName()]
    return value === undefined ? null : sessions.findByCookie(request.params.session_id, value)
  }
  const requireVisitor = async (request: FastifyRequest<SessionRoute>): Promise<void> => {
    const visitor = await findVisitor(request)
    if (!visitor) throw unauthenticated('This session has not been opened here, or its 12 hours are over.')
    request.actor = visitor
  }
  const requireSession = async (request: FastifyRequest<SessionRoute>): Promise<RunRow> => {
    const run = request.actor && (await findRun(db, request.params.session_id, request.actor))
    if (!run) throw new AppError('resource_not_found', 'The run of this session is no longer here.')
    return run
  }

  app.get<SessionRoute>('/sessions/:session_id', async (request, reply) => {
    // Not looked up: whoever has no access must not learn which runs there are.
    if (!isUuid(request.params.session_id)) return sendPage(reply, NO_SUCH_SESSION)
    return reply.headers(PAGE_HEADERS).send(page)
  })

  app.post<SessionRoute>(
    '/sessions/:session_id/access',
    {
      bodyLimit: 4096,
      onRequest: async (request) => {
        requireOwnPage(request, settings.public_url)
        if (request.headers.authorization) request.actor = await services.access.authenticate(request)
      },
    },
    async (request, reply) => {
      const { session_id } = request.params
      const body = AccessBody.safeParse(request.body ?? {})
      if (!body.success) throw invalid(body.error)
      const actor = request.actor ?? (await sessions.findByLink(session_id, body.data.token ?? ''))
      if (!actor) throw unauthenticated('The link is not valid, or its 15 minutes are over.')
      await requireRun(services, session_id, actor)
      const { value, max_age } = sessions.makeCookie(session_id, actor)
      const cookie = stringifySetCookie({
        name: cookieName(),
        value,
        path: `/sessions/${session_id}`,
        maxAge: max_age,
        httpOnly: true,
        sameSite: 'strict',
        secure: isSecure(),
      })
      return reply.code(204).header('set-cookie', cookie).send()
    },
  )

  app.get<SessionRoute>(
    '/sessions/:session_id/run',
    { onRequest: requireVisitor },
    async (request, reply) => {
      const run = await requireSession(request)
      return sendJson(reply.headers(DATA_HEADERS), 200, viewRun(run, plainLink))
    },
  )

  app.get<SessionRoute>(
    '/sessions/:session_id/events',
    // Answering HEAD would drain an endless stream.
    { onRequest: requireVisitor, exposeHeadRoute: false },
    async (request, reply) => {
      const { session_id } = request.params
      const query = EventsQuery.safeParse(request.query)
      if (!query.success) throw invalid(query.error)
      const after = lastEventId(request) ?? query.data.after ?? 0
      await requireSession(request)
      const stream = streams.open(session_id, () =>
        openStream(services, request, {
          run_id: session_id,
          after,
          follow: true,
          isAllowed: async () => (await findVisitor(request)) !== null,
        }),
      )
      return reply.headers({ ...DATA_HEADERS, ...STREAM_HEADERS }).send(stream)
    },
  )
}

const DATA_HEADERS = { 'cross-origin-resource-policy': 'same-origin' } as const

const NO_SUCH_SESSION = {
  title: 'No such session',
  status: 404,
  main: html`<h1>There is no run here</h1>
<p>The address of a run’s page ends in the id of the run; this one does not.</p>`,
}
