/**
 * `/api/workers/v1`: what workers that only dial out ask. No part of the public API: both ends are of one release, or of
 * neighbours. A pool key opens `welcome` and `enrol`, the token of an enrolled worker the rest.
 */
import type { IncomingMessage } from 'node:http'
import { Readable, Transform } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { BlobsUnavailable } from '../../blobs/blobs.ts'
import { AppError } from '../../contract/error.ts'
import { placeIn } from '../../control-plane/pool-places.ts'
import { LOST, RUN_VERBS, type Verb } from '../../control-plane/run-verbs.ts'
import * as shape from '../../control-plane/verb-shapes.ts'
import { judgeVersion } from '../../control-plane/versions.ts'
import { toWire } from '../../control-plane/wire-value.ts'
import { WORKER_VERBS } from '../../control-plane/worker-verbs.ts'
import { readNamedBlobs } from '../../store/blob-keys.ts'
import { readInstallation } from '../../store/installation.ts'
import {
  enrolWorker,
  findRemoteWorker,
  MAX_LIVING,
  mayReadFile,
  mayWriteFile,
  type RemoteWorkerRow,
} from '../../store/remote-workers.ts'
import { brokenOff } from '../caller-left.ts'
import type { Services } from '../context.ts'
import { invalid } from '../problem.ts'
import { sendJson } from '../route.ts'

const PREFIX = '/api/workers/v1'
/** Less than what may be received at once of one principal: a batch of events that is larger is sent in parts. */
const BODY_LIMIT = 12 * 1024 ** 2
/** The runs that one worker may hold, by their ids. */
const WAIT_BODY_LIMIT = 64 * 1024
/** A worker asks one question at a time; that it has left an earlier one may be heard late, behind a proxy. */
const MOST_WAITS = 4
const IN_DEV =
  '`runyard dev` has its own worker and takes no others. Workers over HTTPS need `runyard serve`, on PostgreSQL.'

declare module 'fastify' {
  interface FastifyRequest {
    worker?: RemoteWorkerRow
  }
}

export function serveRemoteWorkers(app: FastifyInstance, services: Services): void {
  const { store, access, settings, bodies, blobs, plane, closing } = services
  const requirePlane = () => {
    if (plane) return plane
    throw new AppError('operation_not_supported', IN_DEV)
  }

  const withPoolKey = async (request: FastifyRequest): Promise<void> => {
    requirePlane()
    request.actor = await access.authenticatePoolKey(request)
  }
  const withToken = async (request: FastifyRequest): Promise<void> => {
    requirePlane()
    const token = /^Bearer (ryw_[\w-]{43})$/.exec(request.headers.authorization ?? '')?.[1]
    const worker = token === undefined ? null : await findRemoteWorker(store.quick, token)
    if (!worker)
      return access.refuse(request, 'This takes the token of a worker that is enrolled with a pool key.')
    request.worker = worker
    request.actor = worker.actor
  }
  const workerOf = ({ worker }: FastifyRequest): RemoteWorkerRow => {
    if (!worker) throw new Error('The route was reached without a worker.')
    return worker
  }
  const read = <T>(body: z.ZodType<T>, value: unknown): T => {
    const parsed = body.safeParse(value ?? {})
    if (!parsed.success) throw invalid(parsed.error)
    return parsed.data
  }

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/json',
      async (request: FastifyRequest, payload: IncomingMessage) =>
        parse(await bodies.receive(request, payload, { large: false })),
    )
    const post = (
      path: string,
      onRequest: (request: FastifyRequest) => Promise<void>,
      answer: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
    ) =>
      scope.route({
        method: 'POST',
        url: `${PREFIX}/${path}`,
        bodyLimit: path === 'wait' ? WAIT_BODY_LIMIT : BODY_LIMIT,
        onRequest,
        handler: async (request, reply) => {
          const value = await answer(request, reply)
          return sendJson(reply, 200, value === LOST ? { lost: true } : { value: toWire(value) })
        },
      })

    post('welcome', withPoolKey, async ({ body, actor }) => {
      const { version } = read(z.object({ version: shape.Name }), body)
      requireVersion(version, settings.version)
      return { installation_id: await readInstallation(store.quick), pool: actor?.pool }
    })
    post('enrol', withPoolKey, async ({ body, actor }) => {
      const { token, worker } = read(
        z.object({ token: z.string().regex(/^ryw_[\w-]{43}$/), worker: shape.Registration }),
        body,
      )
      requireVersion(worker.version, settings.version)
      const { pool = '', key_id = '' } = actor ?? {}
      const registration = { ...worker, pool, place: placeIn(pool, worker.place) }
      const enrolled = await enrolWorker(store.db, registration, { key_id, token })
      if (enrolled === 'full') {
        const detail = `At most ${MAX_LIVING} workers may live with one pool key. Stop some, or make another key.`
        throw new AppError('resource_unavailable', detail, { status: 429, headers: { 'retry-after': '5' } })
      }
      if (enrolled === 'taken')
        throw new AppError('conflict', 'There is another worker with this id.', { retryable: false })
    })
    const waits = new OpenWaits()
    for (const [path, { body, serve }] of Object.entries(WORKER_VERBS))
      post(path, withToken, async (request, reply) => {
        const left = new AbortController()
        reply.raw.once('close', () => left.abort())
        const worker = workerOf(request)
        const call = {
          ...{ store, plane: requirePlane(), worker },
          signal: AbortSignal.any([left.signal, closing]),
        }
        const given = read(body, request.body) as never
        if (path !== 'wait') return serve(call, given)
        // Nothing of the body is needed while the answer waits, and others of the worker's need its room.
        request.body = undefined
        request.giveBack?.()
        return waits.hold(worker.worker_id, left, () => serve(call, given))
      })
    post('runs/:run_id/:attempt/:verb', withToken, async (request) => {
      const { run_id, attempt, verb } = read(
        z.object({ run_id: shape.Id, attempt: z.coerce.number().pipe(shape.Small), verb: z.string() }),
        request.params,
      )
      if (!Object.hasOwn(RUN_VERBS, verb))
        throw new AppError('resource_not_found', 'This version of the server has no such verb.')
      const worker = workerOf(request)
      const { worker_id } = worker
      const { args, serve }: Verb = RUN_VERBS[verb as keyof typeof RUN_VERBS]
      const given = read(z.object({ args: z.array(z.unknown()).max(10) }), request.body)
      const held = requirePlane().hold({ run_id, attempt, worker_id })
      return serve(
        { db: store.db, worker, held, spawnRun: requirePlane().spawnRun },
        read(args, given.args) as never,
      )
    })
  })
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // As it comes: it goes to the storage and is nowhere whole.
    scope.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) => payload)
    scope.route<{ Params: { '*': string } }>({
      method: ['PUT', 'GET', 'DELETE'],
      url: `${PREFIX}/files/*`,
      bodyLimit: settings.max_file_bytes,
      onRequest: async (request) => {
        await withToken(request)
        const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
        if (request.method === 'PUT' && type !== 'application/octet-stream')
          throw new AppError('invalid_request', 'A file is sent as application/octet-stream.', {
            status: 415,
          })
      },
      handler: async (request, reply) => {
        const key = request.params['*']
        const { worker_id } = workerOf(request)
        const may = request.method === 'GET' ? mayReadFile : mayWriteFile
        if (!(await may(store.db, worker_id, key)))
          throw new AppError('not_authorized', 'The worker holds no run that this file is of.')
        if (request.method === 'GET') {
          const data = await blobs.get(key).catch(refuseUnstored)
          if (!data) throw new AppError('resource_not_found', 'There is no such file.')
          return reply.header('content-type', 'application/octet-stream').send(data)
        }
        const named = await readNamedBlobs(store.db, [key])
        if (named.has(key)) throw new AppError('conflict', 'The file is in use.', { retryable: false })
        if (request.method === 'DELETE') {
          await blobs.delete(key).catch(refuseUnstored)
          return sendJson(reply, 200, {})
        }
        if (!(request.body instanceof Readable)) throw new AppError('invalid_request', 'There is no body.')
        const data = limitBytes(request.body as IncomingMessage, settings.max_file_bytes)
        const bytes = await blobs
          .put(key, data)
          .catch(refuseUnstored)
          .finally(() => data.destroy())
        return sendJson(reply, 200, { bytes })
      },
    })
  })
}

/** JSON as a worker writes it: what programs print may hold what the API refuses, and the store takes that out. */
function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new AppError('invalid_request', 'The body is not valid JSON.')
  }
}

function requireVersion(worker: string, server: string): void {
  const refusal = judgeVersion(worker, server)
  if (refusal) throw new AppError('operation_not_supported', refusal)
}

/** Not 503, which may be a gateway's word and is asked again: that the storage fails, a run's log says. */
function refuseUnstored(error: unknown): never {
  if (!(error instanceof BlobsUnavailable)) throw error
  throw new AppError('resource_unavailable', error.message, { status: 507, cause: error })
}

/** Ends what goes on for longer. */
function limitBytes(data: IncomingMessage, most: number): Readable {
  let bytes = 0
  const counting = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      bytes += chunk.length
      callback(
        bytes > most ? new AppError('invalid_request', 'The file is too large.', { status: 413 }) : null,
        chunk,
      )
    },
  })
  // Told by whoever reads it, who may have left by now.
  counting.on('error', () => {})
  data.pipe(counting)
  data.once('close', () => {
    if (!data.complete) counting.destroy(brokenOff())
  })
  // A request that is destroyed gets no answer, and one without an answer is sent again: what nobody stores is read and dropped.
  counting.once('close', () => data.unpipe(counting).resume())
  return counting
}

/** Questions of workers that wait for an answer. */
class OpenWaits {
  readonly #open = new Map<string, Set<AbortController>>()

  /** Where a worker has too many, the oldest is answered with nothing. */
  async hold<T>(worker_id: string, ends: AbortController, work: () => Promise<T>): Promise<T> {
    const open = this.#open.get(worker_id) ?? new Set()
    this.#open.set(worker_id, open)
    open.add(ends)
    const [oldest] = open
    if (open.size > MOST_WAITS && oldest) {
      open.delete(oldest)
      oldest.abort()
    }
    try {
      return await work()
    } finally {
      open.delete(ends)
      if (open.size === 0 && this.#open.get(worker_id) === open) this.#open.delete(worker_id)
    }
  }
}
