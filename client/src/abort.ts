import { APIUserAbortError } from './errors.ts'

export const userAbort = (signal: AbortSignal | undefined): APIUserAbortError =>
  new APIUserAbortError('The request was aborted.', { cause: signal?.reason })

export interface AbortLink {
  readonly controller: AbortController
  /** It follows the signal no longer. */
  unlink(): void
  /** It follows for as long as somebody holds this, which may still be read. */
  unlinkAfter(body: object): void
}

/**
 * A controller that also follows `signal`. By hand, because `AbortSignal.any` keeps what it made alive for as long as a
 * signal that many requests share.
 */
export function linkAbort(signal: AbortSignal | undefined): AbortLink {
  const controller = new AbortController()
  if (!signal) return { controller, unlink: () => {}, unlinkAfter: () => {} }
  const abort = () => controller.abort(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  const unlink = () => signal.removeEventListener('abort', abort)
  return { controller, unlink, unlinkAfter: (body) => dropped?.register(body, unlink) }
}

// Nobody else tells when a body was dropped unread. Workers of older dates have none.
const dropped =
  typeof FinalizationRegistry === 'function'
    ? new FinalizationRegistry<() => void>((unlink) => unlink())
    : undefined

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
