import type { Readable } from 'node:stream'
import { AppError } from '../contract/error.ts'

/** Counts the open streams of each holder (a key, a session) and refuses more than `most`. */
export class StreamLimit {
  readonly #most: number
  readonly #open = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
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
    stream.once('close', () => {
      const left = (this.#open.get(holder) ?? 1) - 1
      if (left > 0) this.#open.set(holder, left)
      else this.#open.delete(holder)
    })
    return stream
  }
}
