/** Of one group. More would keep the first of them waiting for the last. */
const MOST = 32
/** While the database works on one group, the next is sent. */
const AT_ONCE = 2
/** A slower group waits for a lock or a dead connection. Others are sent meanwhile. */
const LATE_MS = 250
/** Slow groups included. The other connections of the pool are left to other questions. */
const MOST_AT_ONCE = 6

/**
 * SQLSTATEs of a statement that stored nothing because of its values, its size or a lock. One member of the group may be the
 * cause, so each is tried alone. Time limits are not among them: a slow database needs no more work.
 */
const REFUSED = /^(21|22|23|40|54|55P03)/

interface Waiting<A, B> extends PromiseWithResolvers<B> {
  about: A
}

/**
 * Puts work that arrives while other work is under way into one statement. A single caller never waits; under load one statement
 * serves many callers and costs little more than for one.
 */
export class Grouped<A, B> {
  readonly #work: (all: readonly A[]) => Promise<B[]>
  readonly #waiting: Array<Waiting<A, B>> = []
  #under_way = 0
  /** Those of them that are not late. */
  #in_time = 0

  /** `work` does all or, where it throws, none; its results have the places of what they are about. */
  constructor(work: (all: readonly A[]) => Promise<B[]>) {
    this.#work = work
  }

  /** Throws what `work` throws of it alone. */
  add(about: A): Promise<B> {
    const waiting = { about, ...Promise.withResolvers<B>() }
    this.#waiting.push(waiting)
    this.#begin()
    return waiting.promise
  }

  #begin(): void {
    if (this.#in_time >= AT_ONCE || this.#under_way >= MOST_AT_ONCE || this.#waiting.length === 0) return
    const group = this.#waiting.splice(0, MOST)
    this.#under_way += 1
    this.#in_time += 1
    let is_late = false
    const late = setTimeout(() => {
      is_late = true
      this.#in_time -= 1
      this.#begin()
    }, LATE_MS)
    void this.#do(group).finally(() => {
      clearTimeout(late)
      this.#under_way -= 1
      if (!is_late) this.#in_time -= 1
      this.#begin()
    })
  }

  async #do(group: ReadonlyArray<Waiting<A, B>>): Promise<void> {
    try {
      const results = await this.#work(group.map(({ about }) => about))
      for (const [place, { resolve }] of group.entries()) resolve(results[place] as B)
    } catch (error) {
      // Where nobody knows what was stored (the connection broke), nothing is done again.
      if (group.length > 1 && isRefused(error)) await Promise.all(group.map((one) => this.#do([one])))
      else for (const { reject } of group) reject(error)
    }
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && REFUSED.test(String(error.code))
