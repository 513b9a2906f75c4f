/** A comment at least so often keeps proxies from closing a stream. */
export const KEEP_ALIVE_MS = 15_000
const RECHECK_MS = 30_000

/** Asks of a stream, by default every 30 s, whether what it was asked with is still good. */
export class KeyCheck {
  readonly #isAllowed: () => Promise<boolean>
  readonly #every_ms: number
  readonly #now: () => number
  #due: number
  /** Once it is not allowed, it stays so, whoever asks next. */
  #is_over = false

  constructor(isAllowed: () => Promise<boolean>, every_ms = RECHECK_MS, now = () => performance.now()) {
    this.#isAllowed = isAllowed
    this.#every_ms = every_ms
    this.#now = now
    this.#due = now() + every_ms
  }

  /** To be asked between pages too: a long log that is read slowly takes its time. */
  async isStillAllowed(): Promise<boolean> {
    if (!this.isDue() || this.#is_over) return !this.#is_over
    this.#due = this.#now() + this.#every_ms
    this.#is_over = !(await this.#isAllowed())
    return !this.#is_over
  }

  /** Whether `isStillAllowed` would ask, or say no. */
  isDue(): boolean {
    return this.#is_over || this.due_ms() === 0
  }

  /** How long until it is, in milliseconds. */
  due_ms(): number {
    return Math.max(0, this.#due - this.#now())
  }

  /** How long a stream may wait for something to send, in milliseconds. */
  wait_ms(): number {
    return Math.min(KEEP_ALIVE_MS, this.due_ms())
  }
}
