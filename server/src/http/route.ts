import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RouteDefinition } from '../contract/route.ts'
import type { Db } from '../store/db.ts'
import {
  type Answer,
  hashBody,
  type IdempotencyKey,
  once,
  onceOutside,
  readAnswer,
} from '../store/idempotency.ts'
import { requireRole } from './auth.ts'
import { ownerOf } from './budget-owner.ts'
import type { Services } from './context.ts'
import { invalid } from './problem.ts'

export const API_PREFIX = '/api/v1'
const SMALL_BODY = 2 * 1024 ** 2
const LARGE_BODY = 64 * 1024 ** 2

declare module 'fastify' {
  interface FastifyRequest {
    actor?: Actor
  }
  interface FastifyContextConfig {
    /** The field of the answer that is the id of what it is about. */
    target_field?: string
    /** The body may have attachments. */
    large?: boolean
  }
}

type Parsed<T> = T extends z.ZodType ? z.infer<T> : undefined

/** A request that was authenticated, allowed and parsed by the contract. */
export interface Call<R extends RouteDefinition> {
  params: Parsed<R['params']>
  query: Parsed<R['query']>
  body: Parsed<R['body']>
  actor: Actor
  idempotency: IdempotencyKey | null
  request: FastifyRequest
  reply: FastifyReply
}

/** A handler's value when it has sent the reply itself. (A reply is a thenable, so handing it back would await it.) */
export const SENT = Symbol('sent')

/**
 * Serves one operation of the contract. The handler's value is the body, unless it is SENT. `admit` throws where the caller may
 * not, before a large body is read.
 */
export function serve<const R extends RouteDefinition>(
  app: FastifyInstance,
  services: Pick<Services, 'access' | 'limits' | 'reading'>,
  definition: R,
  handler: (call: Call<R>) => Promise<unknown>,
  options: { admit?: (call: Pick<Call<R>, 'params' | 'actor'>) => Promise<unknown> } = {},
): void {
  const { creates_run, target }: RouteDefinition = definition
  app.route({
    method: definition.method,
    url: API_PREFIX + definition.path.replace(/\{(\w+)\}/g, ':$1'),
    bodyLimit: definition.large ? LARGE_BODY : SMALL_BODY,
    config: { ...(target ? { target_field: target.field } : {}), large: definition.large === true },
    onRequest: async (request, reply) => {
      request.actor = await services.access.authenticate(request)
      reply.headers(await services.limits.take(ownerOf(request.actor), creates_run === true))
      requireRole(definition, request.actor)
      requireVisited(definition, request.actor, request.params)
      const params = parse(definition.params, request.params) as Call<R>['params']
      await options.admit?.({ params, actor: request.actor })
    },
    handler: async (request, reply) => {
      if (!request.actor) throw new Error('The route was reached without authentication.')
      const params = parse(definition.params, request.params) as Record<string, string> | undefined
      const call = {
        params,
        query: parse(definition.query, request.query),
        body: await services.reading.take(request, () => parseBody(definition, request)),
        actor: request.actor,
        idempotency: idempotencyOf(definition, params, request, request.actor),
        request,
        reply,
      } as Call<R>
      const body = await handler(call)
      if (body === SENT) return reply
      return sendJson(reply, definition.status, body)
    },
  })
}

/** Serves an operation that nobody needs a key for. */
export function servePublic<const R extends RouteDefinition & { is_public: true }>(
  app: FastifyInstance,
  definition: R,
  handler: (params: Parsed<R['params']>) => Promise<unknown>,
): void {
  app.route({
    method: definition.method,
    url: API_PREFIX + definition.path.replace(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) =>
      sendJson(
        reply,
        definition.status,
        await handler(parse(definition.params, request.params) as Parsed<R['params']>),
      ),
  })
}

export function sendJson(reply: FastifyReply, status: number, body: unknown): FastifyReply {
  const { target_field } = reply.request.routeOptions.config
  if (target_field !== undefined)
    reply.request.made_id = String((body as Record<string, unknown>)[target_field])
  return reply
    .code(status)
    .header('content-type', 'application/json; charset=utf-8')
    .send(JSON.stringify(body))
}

/** Runs a write under its Idempotency-Key and sends the first answer, or that answer again. */
export async function sendOnce(
  db: Db,
  call: Pick<Call<RouteDefinition>, 'idempotency' | 'reply'>,
  work: (db: Db) => Promise<Answer>,
): Promise<typeof SENT> {
  return sendAnswer(call.reply, await once(db, call.idempotency, work))
}

/** The same for work that waits for another machine. */
export async function sendOnceOutside(
  db: Db,
  call: Pick<Call<RouteDefinition>, 'idempotency' | 'reply'>,
  work: () => Promise<Answer>,
): Promise<typeof SENT> {
  return sendAnswer(call.reply, await onceOutside(db, call.idempotency, work))
}

function sendAnswer(
  reply: FastifyReply,
  { status, body, replayed }: Answer & { replayed: boolean },
): typeof SENT {
  if (replayed) reply.header('idempotent-replayed', 'true')
  sendJson(reply, status, body)
  return SENT
}

/** The first answer to a call that is repeated, marked so; for work before `sendOnce` that must not be done or refused again. */
export async function readEarlier(
  db: Db,
  call: Pick<Call<RouteDefinition>, 'idempotency' | 'reply'>,
): Promise<Answer | null> {
  const earlier = call.idempotency ? await readAnswer(db, call.idempotency) : null
  if (earlier) call.reply.header('idempotent-replayed', 'true')
  return earlier
}

/** The one place that keeps visitors to their run: whatever is not marked for them they may not call, and other runs are not there. */
export function requireVisited(
  { for_visitors }: Pick<RouteDefinition, 'for_visitors'>,
  { only_run_id }: Actor,
  params: unknown,
): void {
  if (only_run_id === undefined) return
  if (!for_visitors) throw new AppError('not_authorized', 'A link to a run opens that run only.')
  const { run_id } = params as { run_id?: string }
  if (run_id !== undefined && run_id !== only_run_id)
    throw new AppError('resource_not_found', 'There is no run with this id.')
}

function parse(schema: z.ZodType | undefined, value: unknown): unknown {
  if (!schema) return undefined
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw invalid(parsed.error)
  return parsed.data
}

function parseBody(definition: RouteDefinition, request: FastifyRequest): unknown {
  if (!definition.body) return undefined
  const body = request.body
  const size = request.body_bytes ?? 0
  const has_attachments = typeof body === 'object' && body !== null && 'attachments' in body
  if (definition.large && size > SMALL_BODY && !has_attachments) {
    throw new AppError('invalid_request', 'The body is over 2 MiB and has no attachments.', { status: 413 })
  }
  const optional = definition.body.safeParse(undefined).success
  if (body === undefined && !optional) throw new AppError('invalid_request', 'A JSON body is required.')
  return parse(definition.body, body)
}

function idempotencyOf(
  { method, path }: RouteDefinition,
  params: Record<string, string> | undefined,
  request: FastifyRequest,
  actor: Actor,
): IdempotencyKey | null {
  const key = request.headers['idempotency-key']
  if (request.method !== 'POST' || key === undefined) return null
  if (typeof key !== 'string' || key.length < 1 || key.length > 255) {
    throw new AppError('invalid_request', 'Idempotency-Key: must be 1 to 255 characters.')
  }
  return {
    principal_id: actor.principal_id,
    // Not as it was sent: one path may be percent-encoded in many ways.
    route: `${method} ${API_PREFIX}${path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params?.[name] ?? ''))}`,
    key,
    body_hash: request.body_hash ?? hashBody(Buffer.alloc(0)),
  }
}
