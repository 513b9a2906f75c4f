/** Lets so many of what is slow run at once; owners take turns, so that nobody waits for all that one of them asks. */
export class Turns {
  readonly #most: number
  readonly #waiting = new Map<string, Array<() => void>>()
  #running = 0

  constructor(most: number) {
    this.#most = most
  }

  async take<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most)
      await new Promise<void>((resolve) => {
        this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), resolve])
      })
    else this.#running += 1
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  /** The place goes to the owner who has waited longest for one; that owner is the last the next time. */
  #next(): void {
    const [first] = this.#waiting
    if (!first) {
      this.#running -= 1
      return
    }
    const [owner, [resolve, ...others]] = first
    this.#waiting.delete(owner)
    if (others.length > 0) this.#waiting.set(owner, others)
    resolve?.()
  }
}
