import { linkAbort, sleep, userAbort } from './abort.ts'
import { readAny, readError, readJson } from './answer.ts'
import { APIPromise } from './api-promise.ts'
import { APIConnectionError, APIError, APITimeoutError, RunyardError } from './errors.ts'
import { redactHeaders } from './log.ts'
import type { Path } from './path.ts'
import { type CallSource, type Prepared, prepareRequest, type Target } from './prepare.ts'
import { fetchAndFollow } from './redirect.ts'
import { isRetryable, retryDelay } from './retry.ts'
import type { FetchInit, RequestOptions, Transport } from './transport.ts'

// A timer that is asked for more runs off at once.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1

/** Sends a request and reads a JSON answer. */
export const requestJson = <T>(
  transport: Transport,
  call: CallSource,
  options?: RequestOptions,
): APIPromise<T> => requestAnd(transport, call, options, readJson<T>)

/** The same for an answer that may be empty. */
export const requestAny = <T>(
  transport: Transport,
  call: CallSource,
  options?: RequestOptions,
): APIPromise<T> => requestAnd(transport, call, options, readAny<T>)

/** Sends a request; `read` makes its value of the answer. */
function requestAnd<T>(
  transport: Transport,
  call: CallSource,
  options: RequestOptions = {},
  read: (response: Response) => Promise<T>,
): APIPromise<T> {
  try {
    // At once: the caller may go on to change the objects that were given.
    const prepared = prepareRequest(transport, call, options)
    return new APIPromise<T>((reader) => sendPrepared(transport, prepared, options, reader), read)
  } catch (error) {
    return new APIPromise<T>(() => Promise.reject(error), read)
  }
}

/** Sends a request and gives what `read` takes from its answer. */
export async function request<R>(
  transport: Transport,
  call: CallSource,
  options: RequestOptions = {},
  read: (response: Response) => Promise<R>,
): Promise<R> {
  return sendPrepared(transport, prepareRequest(transport, call, options), options, read)
}

/** Gets a text. */
export const requestText = (transport: Transport, path: Path, options?: RequestOptions): APIPromise<string> =>
  requestAnd(transport, { method: 'GET', path, accept: '*/*' }, options, (response) => response.text())

/** Gets a file, unread. */
export const requestFile = (
  transport: Transport,
  target: Target,
  options?: RequestOptions,
): Promise<Response> =>
  request(transport, { method: 'GET', ...target, accept: '*/*' }, options, async (response) => response)

/**
 * Sends a request until it succeeds, may not be repeated, or `maxRetries` are used up. `read` takes what is needed from
 * the answer; it belongs to the attempt, so a body that breaks off is fetched again and the timeout covers it.
 */
async function sendPrepared<R>(
  transport: Transport,
  prepared: Prepared,
  options: RequestOptions,
  read: (response: Response) => Promise<R>,
): Promise<R> {
  const { log } = transport
  const { name, maxRetries } = prepared
  try {
    for (let retry = 0; ; retry += 1) {
      const headers = { ...prepared.headers, 'x-runyard-retry-count': String(retry) }
      log.debug(`${name} is sent`, () => redactHeaders(headers))
      const started = performance.now()
      const took = () => `${Math.round(performance.now() - started)} ms`
      try {
        const value = await attempt(transport, { ...prepared, headers }, options, read)
        log.info(`${name} succeeded in ${took()}`)
        return value
      } catch (error) {
        const id = error instanceof APIError && error.request_id ? ` (${error.request_id})` : ''
        const reason = `${name} failed after ${took()}: ${reasonOf(error)}${id}`
        const is_over = retry >= maxRetries || !isRetryable(error)
        const delay = retryDelay(error, retry)
        log.info(
          is_over ? reason : `${reason}; retry ${retry + 1} of ${maxRetries} in ${Math.round(delay)} ms`,
        )
        if (is_over) throw error
        await sleep(delay, options.signal)
      }
    }
  } catch (error) {
    const { idempotency_key } = prepared
    if (error instanceof RunyardError && idempotency_key) error.idempotency_key = idempotency_key
    throw error
  }
}

async function attempt<R>(
  transport: Transport,
  { method, url, headers, bare, body, timeout }: Prepared,
  options: RequestOptions,
  read: (response: Response) => Promise<R>,
): Promise<R> {
  const { signal } = options
  if (signal?.aborted) throw userAbort(signal)
  const link = linkAbort(signal)
  let timed_out = false
  const expire = () => {
    timed_out = true
    link.controller.abort()
  }
  const timer = timeout === Infinity ? undefined : setTimeout(expire, Math.min(timeout, LONGEST_TIMEOUT_MS))
  const init = {
    ...transport.fetchOptions,
    ...options.fetchOptions,
    method,
    headers,
    signal: link.controller.signal,
    ...(body === undefined ? {} : { body }),
  } as FetchInit
  // A body that the caller will read is ended by `signal` only.
  let unread: Response['body'] = null
  const place = { url }
  try {
    // Following the redirect of a write would do it elsewhere, or turn it into a read.
    const response =
      method === 'GET' && !init.redirect
        ? await fetchAndFollow(transport.fetch, place, init, bare)
        : await transport.fetch(url, { redirect: 'manual', ...init })
    if (!response.ok) throw await readError(response)
    const value = await read(response)
    if (!response.bodyUsed) unread = response.body
    return value
  } catch (error) {
    if (error instanceof RunyardError) throw error
    if (signal?.aborted) throw userAbort(signal)
    const { origin } = new URL(place.url)
    if (timed_out) {
      throw new APITimeoutError(`${origin} did not answer within ${timeout / 1000} s.`, { cause: error })
    }
    throw new APIConnectionError(`Cannot reach ${origin}: ${reasonOf(error)}.`, { cause: error })
  } finally {
    clearTimeout(timer)
    if (unread) link.unlinkAfter(unread)
    else link.unlink()
  }
}

/** `fetch failed` hides what happened in a chain of causes, the last of which may hold one error per address. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  if (error.cause instanceof Error && !(error instanceof RunyardError)) return reasonOf(error.cause)
  return error.message.replace(/\.$/, '')
}
