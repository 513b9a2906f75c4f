import { Agent, request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { ClusterAccess } from './kubernetes-access.ts'
import { SandboxFault } from './sandbox.ts'

/** Without an answer for so long a call is made again. */
const CALL_LIMIT_MS = 15_000
/** For so long calls are repeated while the API server is away or says that it is busy. */
export const AWAY_LIMIT_MS = 120_000
const PAUSE_MS = { first: 100, most: 5_000 } as const

/** What the API server answered in place of what was asked for. */
export class KubernetesError extends Error {
  override name = 'KubernetesError'
  readonly status: number
  /** Kubernetes' own word, such as `AlreadyExists`. */
  readonly reason: string
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

export interface Metadata {
  name: string
  uid?: string
  resourceVersion?: string
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

interface Call {
  method?: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  body?: unknown
  query?: Record<string, string>
  /** For a patch: merged, unless a field manager applies it. */
  type?: string
  /** False: it is made once. */
  repeats?: boolean
}

/** A cluster's API over one pool of connections. Answers are JSON; refusals throw `KubernetesError`. */
export class KubernetesApi {
  readonly access: ClusterAccess
  readonly namespace: string
  readonly #agent: Agent
  readonly #away_limit_ms: number

  constructor(access: ClusterAccess, namespace: string, away_limit_ms = AWAY_LIMIT_MS) {
    this.access = access
    this.namespace = namespace
    this.#away_limit_ms = away_limit_ms
    this.#agent = new Agent({ ...access.tls, keepAlive: true, maxSockets: 32, timeout: CALL_LIMIT_MS * 2 })
  }

  /** The path of a noun of the namespace, such as `pods/name`. */
  path(rest: string, group = 'api/v1'): string {
    return `/${group}/namespaces/${encodeURIComponent(this.namespace)}/${rest}`
  }

  /** The whole address of a path, a prefix of the server's own included. */
  address(path: string, query: Record<string, string> = {}): URL {
    const { server } = this.access
    const address = new URL(server)
    address.pathname = `${server.pathname.replace(/\/$/, '')}${path}`
    address.search = new URLSearchParams(query).toString()
    return address
  }

  /**
   * Makes the call, again and again while the API server is away or busy. One that was not heard of may have been carried out:
   * callers must be able to make it twice.
   */
  async call<Answer>(path: string, call: Call = {}): Promise<Answer> {
    return retryWhileAway(
      () => this.#once<Answer>(path, call),
      call.repeats === false ? 0 : this.#away_limit_ms,
    )
  }

  async #once<Answer>(path: string, { method = 'GET', body, query, type }: Call): Promise<Answer> {
    const headers: Record<string, string> = { accept: 'application/json', ...(await this.access.authorize()) }
    const data = body === undefined ? undefined : JSON.stringify(body)
    if (data !== undefined) {
      headers['content-type'] = type ?? 'application/json'
      // Node leaves it out of a DELETE, whose body is then taken for another request.
      headers['content-length'] = String(Buffer.byteLength(data))
    }
    const { status, text, retry_after } = await new Promise<{
      status: number
      text: string
      retry_after: number
    }>((resolve, reject) => {
      const signal = AbortSignal.timeout(CALL_LIMIT_MS)
      const sent = request(
        this.address(path, query),
        { method, headers, agent: this.#agent, signal },
        (answer) => {
          buffer(answer).then(
            (bytes) =>
              resolve({
                status: answer.statusCode ?? 0,
                text: bytes.toString(),
                retry_after: Number(answer.headers['retry-after'] ?? 0),
              }),
            reject,
          )
        },
      )
      sent.on('error', reject)
      sent.end(data)
    })
    if (status >= 200 && status < 300) return (text === '' ? {} : JSON.parse(text)) as Answer
    const error = toError(status, text)
    if (retry_after > 0) await delay(Math.min(retry_after, PAUSE_MS.most / 1_000) * 1_000)
    throw error
  }
}

/** What an answer that is no success says, whether or not it is Kubernetes' own. */
export function toError(status: number, text: string): KubernetesError {
  try {
    const { reason = '', message = text } = JSON.parse(text) as { reason?: string; message?: string }
    return new KubernetesError(status, reason, message)
  } catch {
    return new KubernetesError(status, '', text.trim().slice(0, 1_000) || `status ${status}`)
  }
}

/** Whether the API server was not reached, or cannot answer now. */
export function isAway(error: unknown): boolean {
  if (error instanceof SandboxFault) return false
  return !(error instanceof KubernetesError) || error.status === 429 || error.status >= 500
}

/** Repeats the call, with growing pauses, until it is answered or `limit_ms` are over. */
export async function retryWhileAway<Answer>(call: () => Promise<Answer>, limit_ms: number): Promise<Answer> {
  const deadline = performance.now() + limit_ms
  for (let pause_ms: number = PAUSE_MS.first; ; pause_ms = Math.min(pause_ms * 2, PAUSE_MS.most)) {
    try {
      return await call()
    } catch (error) {
      if (!isAway(error) || performance.now() + pause_ms > deadline) throw error
      await delay(pause_ms * (0.5 + Math.random() / 2))
    }
  }
}

/** The status the API server answered with; 0 when it did not answer. */
export const statusOf = (error: unknown): number => (error instanceof KubernetesError ? error.status : 0)

/** The answer, or `null` where nothing of that name is there. */
export async function ifThere<Answer>(call: Promise<Answer>): Promise<Answer | null> {
  try {
    return await call
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw error
  }
}

/** A failed call as callers may see it. */
export function clusterFault(what: string, cause: unknown): SandboxFault {
  if (cause instanceof SandboxFault) return cause
  return new SandboxFault(
    statusOf(cause) === 0 ? 'the API server of the Kubernetes cluster does not answer' : what,
    { cause },
  )
}
