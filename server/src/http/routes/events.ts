import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../contract/error.ts'
import { ROUTES } from '../../contract/routes.ts'
import { isKeyActive } from '../../store/api-keys.ts'
import { readLog } from '../../store/events.ts'
import type { Services } from '../context.ts'
import { type Call, SENT, serve } from '../route.ts'
import { followRun, formatStream } from '../sse.ts'
import { StreamLimit } from '../stream-limit.ts'
import { noSuchRun, requireRun } from './runs.ts'

const STREAMS_PER_KEY = 200
/** Between two bytes on their way: a stream says something every 15 s, so nothing for so long means that nobody reads. */
const STALLED_MS = 30_000

export function serveEvents(app: FastifyInstance, services: Services): void {
  const { db } = services.store
  const streams = new StreamLimit(STREAMS_PER_KEY)

  serve(app, services, ROUTES.listEvents, async (call) => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    if (wantsStream(call.request)) return stream(call, run.run_id)
    const limit = call.query.limit ?? 200
    const page = await readLog(db, run.run_id, call.query.after ?? 0, limit)
    if (!page) throw noSuchRun()
    return { events: page.events, has_more: page.has_more }
  })

  function stream(call: Call<typeof ROUTES.listEvents>, run_id: string) {
    const { actor, request, reply } = call
    const after = lastEventId(request) ?? call.query.after ?? 0
    const body = streams.open(actor.key_id, () =>
      openStream(services, request, {
        run_id,
        after,
        follow: call.query.follow ?? false,
        isAllowed: () => isKeyActive(db, actor.key_id),
      }),
    )
    reply.headers(STREAM_HEADERS).send(body)
    return SENT
  }
}

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Proxies such as nginx hold streams back otherwise.
  'x-accel-buffering': 'no',
} as const

/** The event stream as bytes; it ends with the run, the reader or the service, and where nobody reads it. */
export function openStream(
  services: Services,
  request: FastifyRequest,
  options: { run_id: string; after: number; follow: boolean; isAllowed: () => Promise<boolean> },
): Readable {
  const ended = new AbortController()
  const items = followRun(services.store.db, services.watch, {
    ...options,
    signal: AbortSignal.any([ended.signal, services.closing]),
  })
  const body = Readable.from(formatStream(items, options.run_id), {
    objectMode: false,
    highWaterMark: 64 * 1024,
  })
  const { socket } = request.raw
  // The server destroys a connection that times out, and sets another time when it is kept.
  socket.setTimeout(STALLED_MS)
  const end = () => ended.abort()
  socket.once('close', end)
  body.once('close', () => {
    // The connection may be kept for further requests.
    socket.off('close', end)
    end()
  })
  return body
}

const wantsStream = (request: FastifyRequest): boolean =>
  // Answering HEAD would drain an endless stream.
  request.method === 'GET' && (request.headers.accept ?? '').toLowerCase().includes('text/event-stream')

export function lastEventId(request: FastifyRequest): number | undefined {
  const id = request.headers['last-event-id']
  if (id === undefined || id === '') return undefined
  if (typeof id === 'string' && /^\d{1,15}$/.test(id)) return Number(id)
  throw new AppError('invalid_request', 'Last-Event-ID: must be the sequence of an event.')
}
