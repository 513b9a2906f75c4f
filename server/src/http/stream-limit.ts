import type { Readable } from 'node:stream'
import { AppError } from '../contract/error.ts'

/** Counts the open streams of each holder (a key, a session) at this process and refuses more than `most`. */
export class StreamLimit {
  readonly #most: number
  readonly #all: { inc(): void; dec(): void }
  readonly #open = new Map<string, number>()

  /** `all` counts those of all holders. */
  constructor(most: number, all: { inc(): void; dec(): void }) {
    this.#most = most
    this.#all = all
  }

  /** Counts what `make` returns until it closes. Throws 429 when the holder has `most` already. */
  open(holder: string, make: () => Readable): Readable {
    const open = this.#open.get(holder) ?? 0
    if (open >= this.#most) {
      throw new AppError('resource_unavailable', `At most ${this.#most} streams may be open at once.`, {
        status: 429,
        headers: { 'retry-after': '5' },
      })
    }
    const stream = make()
    this.#open.set(holder, open + 1)
    this.#all.inc()
    stream.once('close', () => {
      this.#all.dec()
      const left = (this.#open.get(holder) ?? 1) - 1
      if (left > 0) this.#open.set(holder, left)
      else this.#open.delete(holder)
    })
    return stream
  }
}
