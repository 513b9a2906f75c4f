import { linkAbort, sleep, userAbort } from './abort.ts'
import { APIPromise } from './api-promise.ts'
import { APIConnectionError, APIError, APITimeoutError, createApiError, RunyardError } from './errors.ts'
import { type Logger, redactHeaders } from './log.ts'
import { formatQuery, type QueryParams } from './query.ts'
import { isRetryable, retryDelay } from './retry.ts'
import { describeRuntime } from './runtime.ts'
import { VERSION } from './version.ts'

/** Where requests go and how; made once per client. */
export interface Transport {
  /** With `/api/v1`, without a slash at the end. */
  readonly baseURL: string
  /** Null: the requests carry none, as in a page with a session cookie. */
  readonly apiKey: string | null
  readonly timeout: number
  readonly maxRetries: number
  readonly defaultHeaders: Readonly<Record<string, string>>
  readonly defaultQuery: QueryParams
  readonly fetch: typeof globalThis.fetch
  readonly fetchOptions: RequestInit
  readonly log: Logger
}

/** What a caller may set for one request. */
export interface RequestOptions {
  /** Ends the request, and waits between retries, with `APIUserAbortError`. */
  signal?: AbortSignal | undefined
  /** Milliseconds for each attempt, its body included. */
  timeout?: number | undefined
  maxRetries?: number | undefined
  headers?: Record<string, string> | undefined
  /** Added to what the method itself asks for. */
  query?: QueryParams | undefined
  /** For POST; default: a random one. The same key and body within 24 hours have their effect once. */
  idempotencyKey?: string | undefined
  /** Passed on to `fetch`: what only one runtime has, such as a `dispatcher` for proxies. */
  fetchOptions?: RequestInit | undefined
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL; ids in it already encoded. */
  path: string
  query?: QueryParams | undefined
  /** Sent as JSON. */
  body?: unknown
  accept?: string
}

/** Sends a request and reads a JSON answer. */
export const requestJson = <T>(
  transport: Transport,
  call: ApiRequest,
  options?: RequestOptions,
): APIPromise<T> => requestAnd(transport, call, options, readJson<T>)

/** Sends a request; `read` makes its value of the answer. */
export const requestAnd = <T>(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions | undefined,
  read: (response: Response) => Promise<T>,
): APIPromise<T> => new APIPromise<T>((reader) => request(transport, call, options, reader), read)

/**
 * Sends a request until it succeeds, may not be repeated, or `maxRetries` are used up. `read` takes what is needed from
 * the answer; it belongs to the attempt, so a body that breaks off is fetched again and the timeout covers it.
 */
export async function request<R>(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions = {},
  read: (response: Response) => Promise<R>,
): Promise<R> {
  const { log } = transport
  const max_retries = options.maxRetries ?? transport.maxRetries
  // One key for all attempts: a create whose answer was lost must not be done twice.
  const idempotency_key = call.method === 'POST' ? (options.idempotencyKey ?? randomKey()) : undefined
  const name = `${call.method} ${call.path}`
  for (let retry = 0; ; retry += 1) {
    const headers = buildHeaders(transport, call, options, retry, idempotency_key)
    log.debug(`${name} is sent`, redactHeaders(headers))
    const started = performance.now()
    const took = () => `${Math.round(performance.now() - started)} ms`
    try {
      const value = await attempt(transport, call, options, headers, read)
      log.info(`${name} succeeded in ${took()}`)
      return value
    } catch (error) {
      const reason = `${name} failed after ${took()}: ${reasonOf(error)}`
      if (retry >= max_retries || !isRetryable(error)) {
        log.info(reason, error instanceof APIError ? error.request_id : undefined)
        throw error
      }
      const delay = retryDelay(error, retry)
      log.info(`${reason}; retry ${retry + 1} of ${max_retries} in ${Math.round(delay)} ms`)
      await sleep(delay, options.signal)
    }
  }
}

async function attempt<R>(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions,
  headers: Record<string, string>,
  read: (response: Response) => Promise<R>,
): Promise<R> {
  const { signal } = options
  if (signal?.aborted) throw userAbort(signal)
  const timeout = options.timeout ?? transport.timeout
  const { controller, unlink } = linkAbort(signal)
  let timed_out = false
  const timer = setTimeout(() => {
    timed_out = true
    controller.abort()
  }, timeout)
  const query = { ...transport.defaultQuery, ...call.query, ...options.query }
  // A body that the caller will read is ended by `signal` only.
  let unread = false
  try {
    const response = await transport.fetch(transport.baseURL + call.path + formatQuery(query), {
      // Following a redirect would do a write elsewhere, or turn it into a read.
      redirect: call.method === 'GET' ? 'follow' : 'manual',
      ...transport.fetchOptions,
      ...options.fetchOptions,
      method: call.method,
      headers,
      signal: controller.signal,
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    })
    if (!response.ok) throw await readError(response)
    const value = await read(response)
    unread = !response.bodyUsed && response.body !== null
    return value
  } catch (error) {
    if (error instanceof RunyardError) throw error
    if (signal?.aborted) throw userAbort(signal)
    const origin = new URL(transport.baseURL).origin
    if (timed_out) {
      throw new APITimeoutError(`${origin} did not answer within ${timeout / 1000} s.`, { cause: error })
    }
    throw new APIConnectionError(`Cannot reach ${origin}: ${reasonOf(error)}.`, { cause: error })
  } finally {
    clearTimeout(timer)
    if (!unread) unlink()
  }
}

/** A plain object, which every `fetch` takes, those of older polyfills too. */
function buildHeaders(
  transport: Transport,
  call: ApiRequest,
  options: RequestOptions,
  retry: number,
  idempotency_key: string | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: call.accept ?? 'application/json',
    'user-agent': `runyard-ts/${VERSION}`,
    'x-runyard-runtime': RUNTIME,
    'x-runyard-retry-count': String(retry),
  }
  if (transport.apiKey !== null) headers.authorization = `Bearer ${transport.apiKey}`
  if (call.body !== undefined) headers['content-type'] = 'application/json'
  if (idempotency_key !== undefined) headers['idempotency-key'] = idempotency_key
  for (const [name, value] of Object.entries({ ...transport.defaultHeaders, ...options.headers }))
    headers[name.toLowerCase()] = value
  return headers
}

export async function readJson<T>(response: Response): Promise<T> {
  if (response.status === 204) return undefined as T
  const text = await response.text()
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new RunyardError('The answer is not JSON, so it is not from a Runyard service. Is baseURL right?', {
      cause,
    })
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

/** `fetch failed` hides what happened in a chain of causes, the last of which may hold one error per address. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error && !(error instanceof RunyardError)) return reasonOf(error.cause)
  return error.message.replace(/\.$/, '')
}

/** Not `crypto.randomUUID`, which browsers keep from pages on plain http. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const RUNTIME = describeRuntime()
