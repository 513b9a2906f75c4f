import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { BUDGETS } from '../budgets/budgets.ts'
import type { Actor } from '../contract/actor.ts'
import type { RouteDefinition } from '../contract/route.ts'
import { type OperationId, ROUTES } from '../contract/routes.ts'
import { appendAudit, type NewAuditEntry } from '../store/audit-log.ts'
import type { Db } from '../store/db.ts'
import { ownerOfRequest } from './budget-owner.ts'
import { NotedRefusals } from './noted-refusals.ts'

const BATCH_MS = 100
const BATCH_SIZE = 500
const RETRY_MS = 1_000
/** A database that does not answer must not keep a process that was told to stop. */
const CLOSE_MS = 1_500
/** While the database is away; then the oldest go, and the log of the service says how many. */
const MOST_WAITING = 20_000
/** What answers with a link that works without a key. */
const LINKING: readonly OperationId[] = [
  'getTranscript',
  'getConversationTranscript',
  'downloadConversationScreenshot',
  'getArtifact',
  'downloadArtifact',
  'getRunDiff',
  'listHandoffAttachments',
  'getWorkspaceFile',
]

declare module 'fastify' {
  interface FastifyRequest {
    /** The id of what the answer is about, where the path does not name it. */
    made_id?: string
    /** What the audit log says besides: names and ids. */
    audit_detail?: string
    /** The caller reads what came of a run of its own. */
    reads_own_run?: boolean
    /** Its entry is written, or is not to be. */
    is_noted?: boolean
  }
}

/** Says whose work is read: looking at one's own is no entry. A visitor is another person than the link's maker. */
export function noteReading(
  request: FastifyRequest,
  { principal_id, only_run_id }: Actor,
  run: { creator_id: string; principal_id: string },
): void {
  request.reads_own_run =
    only_run_id === undefined && [run.creator_id, run.principal_id].includes(principal_id)
}

/**
 * Writes the audit log behind the answers: entries wait up to 100 ms and go in one statement. Those of creates are stored with
 * their runs instead. A process that is killed loses those that waited, and one that is stopped none. While the database is away they are
 * kept and tried again.
 */
export class AuditWriter {
  readonly #db: Db
  readonly #log: Pick<Logger, 'warn' | 'error'>
  #waiting: NewAuditEntry[] = []
  #writing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(db: Db, log: Pick<Logger, 'warn' | 'error'>) {
    this.#db = db
    this.#log = log
  }

  note(entry: NewAuditEntry): void {
    this.#waiting.push({ ...entry, occurred_at: new Date() })
    const excess = this.#waiting.length - MOST_WAITING
    if (excess > 0) {
      this.#waiting.splice(0, excess)
      this.#log.error({ lost: excess }, 'The audit log cannot be written: the oldest entries are lost.')
    }
    this.#timer ??= setTimeout(() => void this.flush(), BATCH_MS)
  }

  /** Resolves when all that was noted before is written, or cannot be for the moment. */
  flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  /** Writes what waits, for as long as a stop may take, and then no more. */
  async close(): Promise<void> {
    await Promise.race([this.flush(), wait(CLOSE_MS, undefined, { ref: false })])
    this.#closed = true
    if (this.#timer) clearTimeout(this.#timer)
    const lost = this.#waiting.length
    if (lost > 0) this.#log.error({ lost }, 'The audit log could not be written: its last entries are lost.')
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_SIZE)
      try {
        await appendAudit(this.#db, batch)
      } catch (error) {
        this.#waiting.unshift(...batch)
        if (this.#closed) return
        this.#log.warn({ err: error, entries: this.#waiting.length }, 'The audit log waits for the database.')
        this.#timer ??= setTimeout(() => void this.flush(), RETRY_MS)
        return
      }
    }
  }
}

/** Notes, once they are answered: writes, denials, and links to what came of others' runs. docs/access.md has the same list. */
export function recordRequests(app: FastifyInstance, audit: AuditWriter, prefix: string): void {
  const operations = new Map<string, string>(
    (Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>).map(([id, { method, path }]) => [
      `${method} ${prefix}${path.replace(/\{(\w+)\}/g, ':$1')}`,
      id,
    ]),
  )
  const refusals = new NotedRefusals(BUDGETS.noted_refusals, (entry) => audit.note(entry))
  // Who asks for one link again and again has it.
  const issued = new RateLimiterMemory({ points: 1, duration: 60 })
  const note = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (request.is_noted) return
    request.is_noted = true
    const { url = '' } = request.routeOptions
    // Fastify answers HEAD as GET, with the same links.
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const operation = operations.get(`${method} ${url}`)
    if (operation === undefined && !OTHERS.test(url)) return
    const links = operation !== undefined && (LINKING as readonly string[]).includes(operation)
    const kind = kindOf(request, reply, links)
    if (kind === null) return
    const who = ownerOfRequest(request)
    if (kind === 'refusal' && !refusals.take(who, request.actor === undefined)) return
    const target = targetOf(request)
    if (kind === 'link' && !(await issued.consume(`${who} ${operation} ${target}`).catch(() => null))) return
    audit.note(entryOf(request, { action: operation ?? `${method} ${url}`, status: reply.statusCode, kind }))
  }
  app.addHook('onResponse', note)
  // Where the caller has hung up, an answer never ends; what was done was done.
  app.addHook('onSend', async (request, reply) => {
    if (reply.raw.closed) await note(request, reply)
    else reply.raw.once('close', () => void note(request, reply))
  })
  app.addHook('onClose', () => {
    refusals.close()
    return audit.close()
  })
}

/** The entry of a request. One that is stored with what the request does must not be noted again: set `is_noted`. */
export function entryOf(
  request: FastifyRequest,
  { action, status, kind = 'write' }: { action: string; status: number; kind?: Kind },
): NewAuditEntry {
  const { actor } = request
  return {
    ...{
      action,
      target: targetOf(request),
      via: 'http',
      address: request.ip,
      request_id: request.id,
      status,
    },
    ...(actor && actor.only_run_id === undefined
      ? { principal_id: actor.principal_id, key_id: actor.key_id, role: actor.role }
      : {}),
    detail: detailOf(request, kind),
  }
}

type Kind = 'write' | 'refusal' | 'link'

/** Addresses outside the contract that show, give out or change what belongs to somebody. */
const OTHERS = /^\/(downloads|hooks|sessions|uploads|web)\//
const DENIALS = [401, 403, 404, 429]

/** What of an answer is noted. Of refusals only so many: a write that was done has cost more than its entry, a refusal has not. */
function kindOf(
  { method, actor, reads_own_run = false }: FastifyRequest,
  { statusCode: status }: FastifyReply,
  links: boolean,
): Kind | null {
  const reads = method === 'GET' || method === 'HEAD'
  if (actor !== undefined && !reads) return status >= 400 && status < 500 ? 'refusal' : 'write'
  if (DENIALS.includes(status)) return 'refusal'
  return links && status < 400 && !reads_own_run ? 'link' : null
}

function detailOf({ actor, audit_detail }: FastifyRequest, kind: Kind): string | null {
  const what = kind === 'link' ? 'a link was issued' : (audit_detail ?? null)
  if (actor?.only_run_id === undefined) return what
  return [what, `visit ${actor.key_id}`].filter(Boolean).join(', ')
}

/** The path's parameters, and what the answer is about besides. */
function targetOf({ params, made_id }: FastifyRequest): string | null {
  const ids = Object.values((params ?? {}) as Record<string, string>)
  return [...ids, ...(made_id === undefined ? [] : [made_id])].join(' ') || null
}
