import {
  APIConnectionError,
  APITimeoutError,
  APIUserAbortError,
  createApiError,
  RunyardError,
} from './errors.ts'
import { formatQuery, type QueryValue } from './query.ts'
import { isRetryable, retryDelay, sleep } from './retry.ts'
import { VERSION } from './version.ts'

/** Where requests go and how; made once per client. */
export interface Transport {
  /** With `/api/v1`, without a slash at the end. */
  readonly base_url: string
  readonly api_key: string
  readonly timeout: number
  readonly max_retries: number
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: typeof globalThis.fetch
}

/** What a caller may set for one request. */
export interface RequestOptions {
  /** Ends the request, and waits between retries, with `APIUserAbortError`. */
  signal?: AbortSignal | undefined
  /** Milliseconds for one attempt, its body included. */
  timeout?: number | undefined
  max_retries?: number | undefined
  headers?: Record<string, string> | undefined
  /** For POST; default: a random one. The same key and body within 24 hours have their effect once. */
  idempotency_key?: string | undefined
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL; ids in it already encoded. */
  path: string
  query?: { readonly [name: string]: QueryValue } | undefined
  /** Sent as JSON. */
  body?: unknown
  accept?: string
  /** Redirects are errors unless this is set: following one would repeat a write elsewhere. */
  follow_redirects?: boolean
}

/** Sends a request and reads a JSON answer. */
export const requestJson = <T>(
  transport: Transport,
  call: ApiRequest,
  options?: RequestOptions,
): Promise<T> => request(transport, call, options, readJson<T>)

/**
 * Sends a request until it succeeds, may not be repeated, or `max_retries` are used up. `read` takes what is needed from
 * the answer; it belongs to the attempt, so a body that breaks off is fetched again and the timeout covers it.
 */
export async function request<T>(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions = {},
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const max_retries = options.max_retries ?? transport.max_retries
  // One key for all attempts: a create whose answer was lost must not be done twice.
  const idempotency_key = call.method === 'POST' ? (options.idempotency_key ?? randomKey()) : undefined
  for (let retry = 0; ; retry += 1) {
    const headers = buildHeaders(transport, call, options, retry, idempotency_key)
    try {
      return await attempt(transport, call, options, headers, read)
    } catch (error) {
      if (retry >= max_retries || !isRetryable(error)) throw error
      await sleep(retryDelay(error, retry), options.signal)
    }
  }
}

async function attempt<T>(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions,
  headers: Headers,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const timeout = options.timeout ?? transport.timeout
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeout)
  const signal = options.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal
  try {
    const response = await transport.fetch(transport.base_url + call.path + formatQuery(call.query), {
      method: call.method,
      headers,
      redirect: call.follow_redirects ? 'follow' : 'manual',
      signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    })
    if (!response.ok) throw await readError(response)
    return await read(response)
  } catch (error) {
    if (error instanceof RunyardError) throw error
    if (options.signal?.aborted) throw new APIUserAbortError('The request was aborted.', { cause: error })
    if (deadline.signal.aborted) {
      throw new APITimeoutError(`${originOf(transport)} did not answer within ${timeout / 1000} s.`, {
        cause: error,
      })
    }
    throw new APIConnectionError(`Cannot reach ${originOf(transport)}: ${reasonOf(error)}.`, { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

function buildHeaders(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions,
  retry: number,
  idempotency_key: string | undefined,
): Headers {
  const headers = new Headers({
    accept: call.accept ?? 'application/json',
    'user-agent': `runyard-ts/${VERSION}`,
    'x-runyard-runtime': RUNTIME,
    'x-runyard-retry-count': String(retry),
    authorization: `Bearer ${transport.api_key}`,
  })
  if (call.body !== undefined) headers.set('content-type', 'application/json')
  if (idempotency_key !== undefined) headers.set('idempotency-key', idempotency_key)
  for (const [name, value] of Object.entries({ ...transport.headers, ...options.headers }))
    headers.set(name, value)
  return headers
}

export async function readJson<T>(response: Response): Promise<T> {
  const text = await response.text()
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new RunyardError(
      'The answer is not JSON, so it is not from a Runyard service. Is base_url right?',
      { cause },
    )
  }
}

async function readError(response: Response): Promise<RunyardError> {
  const text = await response.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {}
  return createApiError({
    status: response.status,
    status_text: response.statusText,
    body,
    headers: response.headers,
  })
}

const originOf = (transport: Transport): string => new URL(transport.base_url).origin

/** `fetch failed` hides what happened in a chain of causes, the last of which may hold one error per address. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error) return reasonOf(error.cause)
  return error.message.replace(/\.$/, '')
}

/** Not `crypto.randomUUID`, which browsers keep from pages on plain http. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const RUNTIME = detectRuntime()

function detectRuntime(): string {
  for (const name of ['Deno', 'Bun'] as const) {
    if (name in globalThis) return name.toLowerCase()
  }
  const version = globalThis.process?.versions?.node
  return version ? `node/${version}` : 'unknown'
}
