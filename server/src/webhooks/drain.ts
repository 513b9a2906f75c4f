import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { isUnavailable } from '../store/faults.ts'
import type { Question, Watch } from '../store/watch.ts'

const LOOK_MS = 500
/** How long to rest at most when no row is pending. */
const REST_MS = 30_000
/** Of a process that stops, for what it is sending. */
const GRACE_MS = 1_000

export interface DrainOptions<T> {
  /** Takes at most so many of those that are due; `null` if no row is pending. */
  take: (limit: number) => Promise<T[] | null>
  /** What it throws is logged, and tried again when the item is due again. `cut`: the process stops. */
  send: (item: T, cut: AbortSignal) => Promise<void>
  at_once: number
  /** Ends a rest: with each change that is announced, and when `waits` is true. */
  watch: Pick<Watch, 'onAny' | 'onWaiting'>
  /** Whether a row is pending. */
  waits: Question
  /** As in "a webhook". */
  what: string
  log: Pick<Logger, 'warn'>
  /** Default: half a minute. */
  rest_ms?: number
}

/** Sends what is due until the function it returns is called. The rows are what is to be done, so nothing is lost with a process. */
export function startDraining<T>({
  take,
  send,
  at_once,
  watch,
  waits,
  what,
  log,
  rest_ms = REST_MS,
}: DrainOptions<T>): () => Promise<void> {
  const stopping = new AbortController()
  const cutting = new AbortController()
  const at_work = new Set<Promise<void>>()
  let ended = Promise.withResolvers<void>()
  let changed = Promise.withResolvers<void>()
  const unsubscribes = [watch.onAny(() => changed.resolve()), watch.onWaiting(waits, () => changed.resolve())]

  const sendOne = async (item: T): Promise<void> => {
    try {
      await send(item, cutting.signal)
    } catch (error) {
      log.warn({ err: error }, `Sending ${what} failed; trying again.`)
    } finally {
      ended.resolve()
    }
  }
  /** Takes what is due and there is room for. */
  const look = async (): Promise<'found' | 'none due' | 'none waits'> => {
    const limit = at_once - at_work.size
    if (limit === 0) return 'none due'
    const taken = await take(limit)
    if (taken === null) return 'none waits'
    for (const item of taken) {
      const sending = sendOne(item).finally(() => at_work.delete(sending))
      at_work.add(sending)
    }
    return taken.length > 0 ? 'found' : 'none due'
  }
  const pause = (ms: number) => wait(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      ended = Promise.withResolvers()
      changed = Promise.withResolvers()
      const found = await look().catch((error: unknown) => {
        if (!isUnavailable(error)) log.warn({ err: error }, `Looking for ${what} failed; trying again.`)
        return 'none due'
      })
      // What was sent may have been before something else that waits.
      await (found === 'found' || at_work.size > 0
        ? Promise.race([ended.promise, pause(LOOK_MS)])
        : pause(LOOK_MS))
      if (found === 'none waits') await Promise.race([changed.promise, pause(rest_ms)])
    }
  }
  const allSent = () => Promise.race([Promise.allSettled(at_work), wait(GRACE_MS, undefined, { ref: false })])
  const looping = loop()
  return async () => {
    for (const unsubscribe of unsubscribes) unsubscribe()
    stopping.abort()
    await looping
    // A receiver may take long to answer; whoever stops the service does not wait for it.
    await allSent()
    cutting.abort()
    await allSent()
  }
}
