import type { Readable } from 'node:stream'
import type { Budget } from '../budgets/budgets.ts'
import { Holdings } from '../budgets/holdings.ts'
import { AppError } from '../contract/error.ts'

/** Counts the open streams of each owner at this process and refuses more than the budget has. */
export class StreamLimit {
  readonly #budget: Budget
  readonly #held: Holdings
  readonly #all: { inc(): void; dec(): void } | undefined

  /** `all` counts those of all owners. */
  constructor(budget: Budget, all?: { inc(): void; dec(): void }) {
    this.#budget = budget
    this.#held = new Holdings(budget)
    this.#all = all
  }

  /** Counts what `make` returns until it closes. Throws 429 when the owner, or everybody together, has the most already. */
  open(owner: string, make: () => Readable): Readable {
    if (!this.#held.take(owner)) throw tooMany(this.#budget)
    try {
      const stream = make()
      this.#all?.inc()
      stream.once('close', () => {
        this.#all?.dec()
        this.#held.giveBack(owner)
      })
      return stream
    } catch (error) {
      this.#held.giveBack(owner)
      throw error
    }
  }
}

export function tooMany({ name, most, of, in_all }: Budget): AppError {
  const all = in_all === undefined ? '' : `, and ${in_all} for all together`
  return new AppError(
    'resource_unavailable',
    `${name}: at most ${most} may be open at once for each ${of.split(',')[0]}${all}. Close some, or try again later.`,
    { status: 429, headers: { 'retry-after': '5' } },
  )
}
