import type { Budget } from './budgets.ts'

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
    return Math.min(this.#most - (this.#held.get(owner) ?? 0), this.#in_all - this.#sum)
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
