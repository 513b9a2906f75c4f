import type { Budget } from './budgets.ts'

/** Of what the others leave of a budget of all together, what one owner may have: a few owners could use it up otherwise. */
const SHARE = 1 / 4

/** What everybody holds at this moment of a budget that is counted "at once". */
export class Holdings {
  readonly #most: number
  readonly #in_all: number
  readonly #held = new Map<string, number>()
  #sum = 0

  constructor({ most, in_all = Number.POSITIVE_INFINITY }: Pick<Budget, 'most' | 'in_all'>) {
    this.#most = most
    this.#in_all = in_all
  }

  /** What the owner could still take. */
  roomOf(owner: string): number {
    const own = this.#held.get(owner) ?? 0
    return Math.min(this.#most, (this.#in_all - (this.#sum - own)) * SHARE) - own
  }

  /** Takes the whole amount, or nothing and returns false. What was taken is to be given back. */
  take(owner: string, amount = 1): boolean {
    if (amount > this.roomOf(owner)) return false
    this.#held.set(owner, (this.#held.get(owner) ?? 0) + amount)
    this.#sum += amount
    return true
  }

  giveBack(owner: string, amount = 1): void {
    const left = (this.#held.get(owner) ?? 0) - amount
    if (left > 0) this.#held.set(owner, left)
    else this.#held.delete(owner)
    this.#sum -= amount
  }

  get sum(): number {
    return this.#sum
  }
}
