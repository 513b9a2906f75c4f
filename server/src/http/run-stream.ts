import { Readable } from 'node:stream'
import { KEEP_ALIVE_MS, type KeyCheck } from './key-check.ts'
import type { LogTails, SharedTail } from './log-tails.ts'
import { deltaOf, forget, formatDelta, formatEnd, KEEP_ALIVE, OPENING } from './sse.ts'

/** Of what its reader has not taken, in bytes; a page may come on top. */
const MOST_WAITING = 64 * 1024
const LATER_MS = 1_000

export interface RunStreamOptions {
  run_id: string
  /** The last sequence the reader has. */
  after: number
  /** Go on after the run's end: a follow-up may start it again. */
  follow: boolean
  /** Ends the stream. */
  key: KeyCheck
}

/**
 * The log of a run after `after`, then whatever comes, in order and once, as server-sent events. It subscribes before it reads, so
 * nothing falls between; for a reader that is slow it does not read, and the service's memory does not grow.
 *
 * Without a generator, or any other promise of its own: a thousand streams of a run wait for one promise, that of the page, and
 * send the same bytes.
 */
export class RunStream extends Readable {
  readonly #tails: LogTails
  readonly #options: RunStreamOptions
  readonly #stop: () => void
  /** Of texts on their way, what the reader has. */
  readonly #sent = new Map<string, number>()
  #after: number
  #has_changed = true
  #has_room = false
  #is_reading = false
  /** Nothing is sent any more. */
  #is_over = false
  #shown_at = performance.now()
  #timer: NodeJS.Timeout | undefined

  constructor(tails: LogTails, options: RunStreamOptions) {
    super({ highWaterMark: MOST_WAITING })
    this.#tails = tails
    this.#options = options
    this.#after = options.after
    this.#stop = tails.follow(options.run_id, () => {
      this.#has_changed = true
      this.#advance()
    })
    this.push(OPENING)
    this.#waitAgain()
  }

  /** Ends it without an end message, so that its reader comes back. */
  end(): void {
    if (this.#is_over) return
    this.#close()
    this.push(null)
  }

  override _read(): void {
    this.#has_room = true
    this.#advance()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#close()
    callback(error)
  }

  #close(): void {
    this.#is_over = true
    this.#stop()
    clearTimeout(this.#timer)
  }

  #advance(): void {
    if (!this.#has_changed || !this.#has_room || this.#is_reading || this.#is_over) return
    this.#is_reading = true
    if (this.#options.key.isDue()) this.#checkKey()
    else this.#readPage()
  }

  #checkKey(): void {
    this.#options.key.isStillAllowed().then(
      (is_allowed) => (is_allowed ? this.#readPage() : this.end()),
      (error) => this.destroy(error),
    )
  }

  #readPage(): void {
    this.#has_changed = false
    this.#tails.read(this.#options.run_id, this.#after).then(
      (page) => (page ? this.#show(page) : this.end()),
      (error) => this.destroy(error),
    )
  }

  #show(page: SharedTail): void {
    if (this.#is_over) return
    if (this.#sent.size > 0) for (const event of page.events) forget(event, this.#sent)
    this.#after = page.events.at(-1)?.sequence ?? this.#after
    if (page.frames.length > 0) this.#send(page.frames)
    this.#is_reading = false
    if (page.has_more) this.#has_changed = true
    else if (page.settled && this.#after >= page.last_sequence && !this.#options.follow) {
      this.#send(formatEnd(page.run_id, this.#after))
      this.end()
    } else {
      const deltas = page.open.flatMap((message) => deltaOf(message, this.#sent))
      if (deltas.length > 0) this.#send(deltas.map((delta) => formatDelta(page.run_id, delta)).join(''))
    }
    this.#advance()
  }

  #send(text: string | Buffer): void {
    this.#shown_at = performance.now()
    this.#has_room = false
    this.push(text)
  }

  /** Only while nothing happens; what is sent meanwhile puts it off without a timer of its own. */
  #waitAgain(): void {
    if (this.#is_over) return
    const { key } = this.#options
    const quiet_ms = KEEP_ALIVE_MS - (performance.now() - this.#shown_at)
    // A reader that takes nothing has its key checked when it does.
    const wait_ms = key.isDue() ? LATER_MS : Math.min(Math.max(quiet_ms, 1), key.due_ms())
    this.#timer = setTimeout(() => this.#look(), wait_ms)
  }

  #look(): void {
    if (this.#options.key.isDue()) {
      this.#has_changed = true
      this.#advance()
    } else if (this.#has_room && !this.#is_reading && performance.now() - this.#shown_at >= KEEP_ALIVE_MS)
      this.#send(KEEP_ALIVE)
    this.#waitAgain()
  }
}
