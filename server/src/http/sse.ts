import type { MessageDelta, RunEvent } from '../contract/event.ts'
import type { Db } from '../store/db.ts'
import { type OpenMessage, readLog, readOpenMessages } from '../store/events.ts'
import type { Watch } from '../store/watch.ts'

const PAGE = 500
/** What a stream may hold for a reader that does not read. */
const PAGE_BYTES = 256 * 1024
const KEEP_ALIVE_MS = 15_000
const RECHECK_MS = 30_000

export type StreamItem =
  | { kind: 'event'; event: RunEvent }
  | { kind: 'delta'; delta: MessageDelta }
  | { kind: 'keep-alive' }
  | { kind: 'end'; last_sequence: number }

export interface FollowOptions {
  run_id: string
  /** The last sequence the reader has. */
  after: number
  /** Go on after the run's end: a follow-up may start it again. */
  follow: boolean
  /** Ends the stream. */
  signal: AbortSignal
  /** Asked every 30 s; false ends the stream. */
  isAllowed: () => Promise<boolean>
}

/**
 * Everything after `after`, then whatever comes, in order and once. It subscribes before it reads, so nothing falls
 * between; a reader that is slow makes the generator wait, not the service's memory grow.
 */
export async function* followRun(db: Db, watch: Watch, options: FollowOptions): AsyncGenerator<StreamItem> {
  const wake = new Wake(options.signal)
  const stop = watch.onRun(options.run_id, () => wake.set())
  const sent = new Map<string, number>()
  let cursor = options.after
  let checked_at = performance.now()
  try {
    while (!options.signal.aborted) {
      // Between pages too: a long log that is read slowly takes its time.
      if (performance.now() - checked_at > RECHECK_MS) {
        checked_at = performance.now()
        if (!(await options.isAllowed())) return
      }
      wake.clear()
      const page = await readLog(db, options.run_id, cursor, PAGE, PAGE_BYTES)
      if (!page) return
      for (const event of page.events) {
        forget(event, sent)
        cursor = event.sequence
        yield { kind: 'event', event }
      }
      if (page.has_more) continue
      if (page.settled && cursor >= page.last_sequence && !options.follow) {
        yield { kind: 'end', last_sequence: cursor }
        return
      }
      const open = await readOpenMessages(db, options.run_id)
      yield* open.flatMap((message) => deltaOf(message, sent))
      if (!(await wake.wait(KEEP_ALIVE_MS))) yield { kind: 'keep-alive' }
    }
  } finally {
    stop()
    wake.close()
  }
}

/** What of an open message the reader has not seen; all of it, the first time. */
function deltaOf(message: OpenMessage, sent: Map<string, number>): StreamItem[] {
  const { message_id, text } = message
  const offset = sent.get(message_id) ?? 0
  if (text.length <= offset) return []
  sent.set(message_id, text.length)
  return [{ kind: 'delta', delta: { message_id, offset, text: text.slice(offset) } }]
}

/** A completed message has no text on its way any more; a lost attempt's messages are void. */
function forget(event: RunEvent, sent: Map<string, number>): void {
  if (event.type === 'message.assistant') sent.delete(event.data.message_id)
  if (event.type === 'attempt.lost') sent.clear()
}

/** A flag that can be waited for. */
class Wake {
  #set = false
  #resolve: (() => void) | undefined
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.set()

  constructor(signal: AbortSignal) {
    this.#signal = signal
    signal.addEventListener('abort', this.#onAbort)
  }
  set(): void {
    this.#set = true
    this.#resolve?.()
  }
  clear(): void {
    this.#set = this.#signal.aborted
  }
  /** True when set, false when the time ran out first. */
  async wait(milliseconds: number): Promise<boolean> {
    if (this.#set) return true
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#resolve = resolve
      timer = setTimeout(resolve, milliseconds)
    })
    clearTimeout(timer)
    this.#resolve = undefined
    return this.#set
  }
  close(): void {
    this.#signal.removeEventListener('abort', this.#onAbort)
  }
}

/** Server-sent events as text (HTML standard, section 9.2). JSON has no raw line breaks, so `data` is one line. */
export async function* formatStream(
  items: AsyncIterable<StreamItem>,
  run_id: string,
): AsyncGenerator<string> {
  // Says at once that the stream is open, and how soon to come back when it breaks.
  yield 'retry: 1000\n\n'
  for await (const item of items) {
    if (item.kind === 'event') {
      yield `id: ${item.event.sequence}\nevent: ${item.event.type}\ndata: ${JSON.stringify(item.event)}\n\n`
    } else if (item.kind === 'delta') {
      const data = JSON.stringify({ run_id, ...item.delta })
      yield `event: message.assistant.delta\ndata: ${data}\n\n`
    } else if (item.kind === 'end') {
      yield `event: end\ndata: ${JSON.stringify({ run_id, last_sequence: item.last_sequence })}\n\n`
    } else yield ': keep-alive\n\n'
  }
}
