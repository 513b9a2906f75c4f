import { APIUserAbortError } from './errors.ts'

export const userAbort = (signal: AbortSignal | undefined): APIUserAbortError =>
  new APIUserAbortError('The request was aborted.', { cause: signal?.reason })

/**
 * A controller that also follows `signal`, until `unlink`. By hand, because `AbortSignal.any` keeps what it made alive for
 * as long as a signal that many requests share.
 */
export function linkAbort(signal: AbortSignal | undefined): {
  controller: AbortController
  unlink: () => void
} {
  const controller = new AbortController()
  if (!signal) return { controller, unlink: () => {} }
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return { controller, unlink: () => signal.removeEventListener('abort', abort) }
}

/** Waits; an abort ends the wait at once with `APIUserAbortError`. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(userAbort(signal))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, milliseconds)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end, { once: true })
  })
}
