import type { Db } from '../store/db.ts'
import { type LogTail, readTails } from '../store/many-logs.ts'
import type { Watch } from '../store/watch.ts'
import { formatEvent } from './sse.ts'

/** Of each log, at once. */
const PAGE = { limit: 200, bytes: 64 * 1024 }
/** In one statement. */
const PLACES_AT_ONCE = 32
/** Ends of logs that are kept until they change. */
const MOST_KEPT_BYTES = 16 * 1024 ** 2

/** A page that any number of streams may send. */
export interface SharedTail extends LogTail {
  /** Its events as server-sent events. */
  frames: Buffer
}

interface Asked {
  run_id: string
  after: number
  answer: (tail: SharedTail | null) => void
  fail: (error: unknown) => void
}

/**
 * The one reader of followed logs in this process. However many streams stand at the same place of a log, it is read once each
 * time it changes; and what is asked for while a statement runs goes into the next one.
 */
export class LogTails {
  readonly #db: Db
  readonly #watch: Watch
  readonly #logs = new Map<string, FollowedLog>()
  #asked: Asked[] = []
  #is_reading = false
  #kept_bytes = 0

  constructor(db: Db, watch: Watch) {
    this.#db = db
    this.#watch = watch
  }

  /** Calls back whenever the log may have changed. Returns how to stop. */
  follow(run_id: string, listener: () => void): () => void {
    const log = this.#logs.get(run_id) ?? new FollowedLog()
    if (log.listeners.size === 0) {
      this.#logs.set(run_id, log)
      log.stop = this.#watch.onRun(run_id, () => {
        this.#forget(log)
        for (const each of log.listeners) each()
      })
    }
    // Two streams may hand in the same function.
    const called = () => listener()
    log.listeners.add(called)
    return () => {
      if (!log.listeners.delete(called) || log.listeners.size > 0) return
      log.stop()
      this.#forget(log)
      this.#logs.delete(run_id)
    }
  }

  /** What comes after a place of a followed log; `null`: there is no such run. */
  read(run_id: string, after: number): Promise<SharedTail | null> {
    const log = this.#logs.get(run_id)
    const known = log?.pages.get(after)
    if (known) return known
    const page = new Promise<SharedTail | null>((answer, fail) => {
      this.#asked.push({ run_id, after, answer, fail })
    })
    if (log) this.#keep(log, after, page)
    if (!this.#is_reading) void this.#read()
    return page
  }

  /** Others at the same place get the same page, until the log changes or, in the middle of it, only while it is read. */
  #keep(log: FollowedLog, after: number, page: Promise<SharedTail | null>): void {
    log.pages.set(after, page)
    const drop = () => {
      if (log.pages.get(after) === page) log.pages.delete(after)
    }
    page.then((tail) => {
      if (log.pages.get(after) !== page) return
      const bytes = tail ? sizeOf(tail) : 0
      if (!tail || tail.has_more || this.#kept_bytes + bytes > MOST_KEPT_BYTES) return drop()
      log.bytes += bytes
      this.#kept_bytes += bytes
    }, drop)
  }

  #forget(log: FollowedLog): void {
    this.#kept_bytes -= log.bytes
    log.bytes = 0
    log.pages.clear()
  }

  async #read(): Promise<void> {
    this.#is_reading = true
    // What is asked in the same moment goes together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#asked.length > 0) {
      const some = this.#asked.splice(0, PLACES_AT_ONCE)
      try {
        const tails = await readTails(
          this.#db,
          some.map(({ run_id, after }) => ({ run_id, after })),
          PAGE,
        )
        for (const { run_id, after, answer } of some) {
          const tail = tails.find((found) => found.run_id === run_id && found.after === after)
          answer(tail ? { ...tail, frames: frame(tail) } : null)
        }
      } catch (error) {
        for (const { fail } of some) fail(error)
      }
    }
    this.#is_reading = false
  }
}

class FollowedLog {
  readonly listeners = new Set<() => void>()
  /** By the place that they begin after. */
  readonly pages = new Map<number, Promise<SharedTail | null>>()
  bytes = 0
  stop: () => void = () => {}
}

const frame = ({ events }: LogTail): Buffer =>
  Buffer.from(events.map((event) => formatEvent(event, event.sequence)).join(''))

/** About what it takes of memory: its events are in it twice. */
const sizeOf = ({ frames, open }: SharedTail): number =>
  2 * frames.length + open.reduce((sum, { text }) => sum + text.length, 200)
