import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BUDGETS } from '../../budgets/budgets.ts'
import { Holdings } from '../../budgets/holdings.ts'
import { AppError } from '../../contract/error.ts'
import { MOST_FOLLOWED } from '../../contract/event-stream.ts'
import { ROUTES } from '../../contract/routes.ts'
import { TimestampInput } from '../../contract/timestamp.ts'
import type { Db } from '../../store/db.ts'
import { readLog } from '../../store/events.ts'
import { type Followed, listFollowed } from '../../store/many-logs.ts'
import { ownerOf } from '../budget-owner.ts'
import type { Services } from '../context.ts'
import { followRuns, formatMany, haveAll } from '../follow-runs.ts'
import { KeyCheck } from '../key-check.ts'
import { LogTails } from '../log-tails.ts'
import { type Call, SENT, serve } from '../route.ts'
import { RunStream } from '../run-stream.ts'
import { hasAll } from '../sse.ts'
import { decodePlaces, type Places } from '../stream-cursor.ts'
import { StreamLimit, tooMany } from '../stream-limit.ts'
import { Turns } from '../turns.ts'
import { noSuchRun, requireRun } from './runs.ts'

/** Of statements that read all logs of a stream. */
const READ_AT_ONCE = 2

export function serveEvents(app: FastifyInstance, services: Services): void {
  const { db } = services.store
  const streams = new StreamLimit(BUDGETS.streams, services.metrics.streams)
  const followed_runs = new Holdings(BUDGETS.followed_runs)
  const shared = { db, tails: new LogTails(db, services.watch), turns: new Turns(READ_AT_ONCE) }
  const checkKey = (request: FastifyRequest) =>
    new KeyCheck(() => services.access.isStillAllowed(request), services.settings.key_check_ms)

  serve(app, services, ROUTES.listEvents, async (call) => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    if (wantsStream(call.request)) return stream(call, run.run_id)
    const limit = call.query.limit ?? 200
    const page = await readLog(db, run.run_id, call.query.after ?? 0, limit)
    if (!page) throw noSuchRun()
    return { events: page.events, has_more: page.has_more }
  })

  const open_streams = new Set<RunStream>()
  services.closing.addEventListener('abort', () => {
    for (const each of open_streams) each.end()
  })
  /** Until it closes, which it does as soon as its connection has. */
  function keep(run_stream: RunStream): RunStream {
    open_streams.add(run_stream)
    return run_stream.once('close', () => open_streams.delete(run_stream))
  }

  async function stream(call: Call<typeof ROUTES.listEvents>, run_id: string) {
    const { actor, request, reply } = call
    const last = lastEventId(request)
    const after = last ?? call.query.after ?? 0
    if (last !== undefined && !call.query.follow && (await hasAll(db, run_id, last))) return endForGood(reply)
    const runs = new FollowedRuns(followed_runs, ownerOf(actor), 1)
    const follow = call.query.follow ?? false
    const options = { run_id, after, follow, key: checkKey(request) }
    const body = runs.until(() =>
      streams.open(ownerOf(actor), () => keep(new RunStream(shared.tails, options))),
    )
    reply.headers(STREAM_HEADERS).send(body)
    return SENT
  }

  serve(app, services, ROUTES.streamEvents, async ({ query, actor, request, reply }) => {
    const followed = {
      run_ids: [...new Set(query.run_ids)],
      ancestor_run_id: query.ancestor_run_id ?? null,
      principal_id: actor.principal_id,
    }
    const start = startOf(request, query.since)
    const owner = ownerOf(actor)
    const count = await requireFollowed(db, followed)
    const returns = request.headers['last-event-id'] !== undefined
    if (returns && !query.follow && (await haveAll(shared, { ...followed, ...start, owner })))
      return endForGood(reply)
    reply.headers(STREAM_HEADERS)
    // Answering HEAD would drain an endless stream.
    if (request.method === 'HEAD') reply.send('')
    else {
      const runs = new FollowedRuns(followed_runs, owner, count)
      const open = (signal: AbortSignal) =>
        formatMany(
          followRuns(shared, {
            ...{ ...followed, ...start, owner, signal },
            follow: query.follow ?? false,
            key: checkKey(request),
            grow: (most) => runs.grow(most),
          }),
        )
      reply.send(runs.until(() => streams.open(owner, () => sendStream(services, request, open))))
    }
    return SENT
  })
}

/** An `EventSource` comes back after every end, and stops at this alone (HTML standard, section 9.2.3). */
function endForGood(reply: FastifyReply): typeof SENT {
  reply.code(204).send()
  return SENT
}

/** How many there are. */
async function requireFollowed(db: Db, followed: Followed): Promise<number> {
  const { run_ids, ancestor_run_id } = followed
  if (run_ids.length === 0 && ancestor_run_id === null) {
    throw new AppError('invalid_request', 'run_ids: name the runs to follow, or an ancestor_run_id.')
  }
  const found = new Set(await listFollowed(db, followed, MOST_FOLLOWED + 2))
  for (const [field, ids] of [
    ['run_ids', run_ids],
    ['ancestor_run_id', ancestor_run_id === null ? [] : [ancestor_run_id]],
  ] as const) {
    // Where more were found than are looked at, one of these may not be among them.
    const missing = found.size <= MOST_FOLLOWED && ids.find((id) => !found.has(id))
    if (missing) throw new AppError('resource_not_found', `${field}: there is no run with this id.`)
  }
  if (ancestor_run_id !== null && !run_ids.includes(ancestor_run_id)) found.delete(ancestor_run_id)
  if (found.size > MOST_FOLLOWED) {
    const detail = `ancestor_run_id: there are more than ${MOST_FOLLOWED} runs to follow, which one stream cannot.`
    throw new AppError('invalid_request', detail)
  }
  return Math.max(1, found.size)
}

/** The runs that one stream follows, of its owner's budget. Throws 429. */
class FollowedRuns {
  readonly #held: Holdings
  readonly #owner: string
  #count: number

  constructor(held: Holdings, owner: string, count: number) {
    if (!held.take(owner, count)) throw tooMany(BUDGETS.followed_runs)
    this.#held = held
    this.#owner = owner
    this.#count = count
  }

  grow(count: number): boolean {
    const more = count - this.#count
    if (more <= 0) return true
    if (!this.#held.take(this.#owner, more)) return false
    this.#count = count
    return true
  }

  /** They are held until the stream that `open` makes closes. */
  until(open: () => Readable): Readable {
    const giveBack = () => this.#held.giveBack(this.#owner, this.#count)
    try {
      return open().once('close', giveBack)
    } catch (error) {
      giveBack()
      throw error
    }
  }
}

/** Last-Event-ID is where a stream broke off; `since` where it was to begin. */
function startOf(
  request: FastifyRequest,
  since: string | undefined,
): { places: Places; since: string | null } {
  const id = request.headers['last-event-id']
  const last = typeof id === 'string' && id !== '' ? decodePlaces(id) : undefined
  if (last === null) {
    throw new AppError('invalid_request', 'Last-Event-ID: must be the id of an event of such a stream.')
  }
  if (since === undefined) return { places: last ?? new Map(), since: null }
  const moment = TimestampInput.safeParse(since)
  if (moment.success) return { places: last ?? new Map(), since: moment.data }
  const places = decodePlaces(since)
  if (!places) {
    throw new AppError('invalid_request', 'since: must be an RFC 3339 date-time or the id of an event.')
  }
  return { places: last ?? places, since: null }
}

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Proxies such as nginx hold streams back otherwise.
  'x-accel-buffering': 'no',
} as const

/** A stream as bytes; it ends by itself, and with the reader or the service. */
function sendStream(
  services: Services,
  request: FastifyRequest,
  open: (signal: AbortSignal) => AsyncIterable<string>,
): Readable {
  const ended = new AbortController()
  const body = Readable.from(open(AbortSignal.any([ended.signal, services.closing])), {
    objectMode: false,
    highWaterMark: 64 * 1024,
  })
  const { socket } = request.raw
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
