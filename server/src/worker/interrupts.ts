import type { FencedStore } from './fenced-store.ts'
import type { Stopping } from './stopping.ts'

interface InterruptsOptions {
  store: FencedStore
  stopping: Stopping
  /** Stores what the turn has said: it comes before the interrupt in the log. */
  drain: () => Promise<void>
  onAcknowledged: () => void
}

/** The interrupts of one execution, each known by its number in the log. */
export class Interrupts {
  readonly #options: InterruptsOptions
  #waiting: number | null = null
  #acknowledged = -1

  constructor(options: InterruptsOptions) {
    this.#options = options
  }

  /** Whether one has stopped the turn and was not acknowledged yet. */
  get waits(): boolean {
    return this.#waiting !== null
  }

  /** Stops the current turn. Orders are read over and over: one that stopped its turn must not stop the next. */
  obey(sequence: number): void {
    if (sequence <= this.#acknowledged) return
    this.#waiting = sequence
    this.#options.stopping.stop('interrupt')
  }

  /** Says that the turn is stopped; what came after the interrupt may be delivered from now on. Throws `LeaseLost`. */
  async acknowledge(): Promise<void> {
    const sequence = this.#waiting
    if (sequence === null) return
    const { store, stopping, drain, onAcknowledged } = this.#options
    await drain()
    await store.acknowledgeInterrupt(sequence)
    this.#acknowledged = sequence
    this.#waiting = null
    stopping.beginTurn()
    onAcknowledged()
  }
}
