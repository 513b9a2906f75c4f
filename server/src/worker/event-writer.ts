import type { NewEvent } from '../contract/event.ts'
import type { MaskedStream } from '../sealing/mask.ts'
import type { OpenMessage } from '../store/events.ts'
import { EventRefused } from './event-refused.ts'
import type { FencedStore } from './fenced-store.ts'
import { LeaseLost } from './lease-lost.ts'
import { MaskedEvents } from './masked-events.ts'
import { createOutputLimit } from './output-limit.ts'
import { BatchWriter } from './write-batch.ts'

/** Deltas are worth a write this often, and less often the longer the text is: it is written whole each time. */
const DELTA_MS = 100
const DELTA_CHARACTERS = 65_536
/** What is longer can be read once it is complete. */
const MAX_OPEN_CHARACTERS = 2 ** 20

export interface EventWriter {
  /** Takes the execution's secret values out of what is written from here on, and of how the run ends. */
  masked: Pick<MaskedEvents, 'hide' | 'outcome' | 'text' | 'stream'>
  /**
   * Resolves when the events are committed, in the order of the calls. Rejects with `LeaseLost`; with `EventRefused` when one
   * of them could not be written and the log says so; and with what the database said when nothing can be written any more.
   */
  emit(...events: NewEvent[]): Promise<void>
  delta(message_id: string, text: string): void
  /**
   * Waits until everything emitted is committed; says nothing about a lost lease. Throws when something could not be written
   * and the log does not say so.
   */
  drain(): Promise<void>
}

/**
 * Groups what is emitted while a write is under way into the next one: an idle run's event is written at once, a busy
 * run's in large batches. One write at a time keeps the order.
 */
export function createEventWriter(
  store: FencedStore,
  options: {
    /** The run does not take this attempt's events any more. */
    onRefused: () => void
    /** The log has a gap, which an event names: the run must not succeed. */
    onGap: (refused: EventRefused) => void
  },
): EventWriter {
  let queue: NewEvent[] = []
  let writing: Promise<void> | null = null
  const batches = new BatchWriter(store)
  /** Why nothing is written any more: a later event would hide that earlier ones are missing. */
  let ended: { reason: unknown } | null = null
  const limit = createOutputLimit()
  const masked = new MaskedEvents()
  const open = new Map<string, { stream: MaskedStream; text: string }>()
  let delta_timer: NodeJS.Timeout | undefined

  const write = async (): Promise<void> => {
    const events = queue
    queue = []
    writing = null
    if (ended) throw ended.reason
    try {
      if (!(await batches.write(events))) {
        options.onRefused()
        throw new LeaseLost()
      }
    } catch (error) {
      if (error instanceof EventRefused) options.onGap(error)
      else ended = { reason: error }
      throw error
    }
  }
  let tail: Promise<unknown> = Promise.resolve()
  /** Everything written goes through one queue. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = tail.then(work, work)
    tail = next.catch(() => {})
    return next
  }

  const writeDeltas = async (): Promise<void> => {
    delta_timer = undefined
    const messages: OpenMessage[] = [...open].map(([message_id, { text }]) => ({ message_id, text }))
    if (messages.length === 0 || ended || store.writing.aborted) return
    await store.writeOpenMessages(messages).catch(() => false)
  }

  return {
    masked,
    emit(...events) {
      if (ended) return Promise.reject(ended.reason)
      if (events.length === 0) return Promise.resolve()
      for (const event of events) if (event.type === 'message.assistant') open.delete(event.data.message_id)
      queue.push(...events.flatMap((event) => masked.events(event)).flatMap(limit))
      writing ??= inTurn(write)
      const written = writing
      // Callers may leave output unawaited; they hear of it at their next await, and the execution by `onGap` and `drain`.
      written.catch(() => {})
      return written
    },
    delta(message_id, text) {
      const message = open.get(message_id) ?? { stream: masked.stream(), text: '' }
      open.set(message_id, message)
      if (message.text.length >= MAX_OPEN_CHARACTERS) return
      message.text += message.stream.push(text)
      const wait_ms = DELTA_MS * (1 + message.text.length / DELTA_CHARACTERS)
      delta_timer ??= setTimeout(() => inTurn(writeDeltas), wait_ms)
    },
    async drain() {
      clearTimeout(delta_timer)
      delta_timer = undefined
      const rest = ended ? [] : masked.end().flatMap(limit)
      if (rest.length > 0) {
        queue.push(...rest)
        writing ??= inTurn(write)
        writing.catch(() => {})
      }
      await tail
      if (ended && !(ended.reason instanceof LeaseLost)) throw ended.reason
    },
  }
}
