/**
 * Why a turn or the whole execution stops, the least grave first. `interrupt` and `budget` end the turn, and so does `gap`: an
 * event could not be stored. `overfull`: the
 * sandbox holds more than it may, the run ends. `cancelled`: it is over for its caller. `shutdown`: it is handed back to the
 * queue, nothing more is written. `lost`: this worker may own it no more.
 */
const CAUSES = ['interrupt', 'budget', 'gap', 'overfull', 'cancelled', 'shutdown', 'lost'] as const
export type StopCause = (typeof CAUSES)[number]
/** What comes from outside the execution. */
export type StopReason = Extract<StopCause, 'cancelled' | 'shutdown' | 'lost'>

const gravity = (cause: StopCause): number => CAUSES.indexOf(cause)
const ENDS_TURN_ONLY = gravity('gap')

/** The one cause of stopping. It only ever gets graver; a new turn forgets what ended the last one and nothing else. */
export class Stopping {
  #cause: StopCause | null = null
  #turn = new AbortController()
  readonly #signals = new Map<StopCause, AbortController>()

  /** False when something as grave was known before. */
  stop(cause: StopCause): boolean {
    if (this.#cause !== null && gravity(cause) <= gravity(this.#cause)) return false
    this.#cause = cause
    this.#turn.abort(cause)
    for (const [from, controller] of this.#signals)
      if (gravity(cause) >= gravity(from)) controller.abort(cause)
    return true
  }

  /** Forgets what ended the last turn, unless the execution itself is to stop. */
  beginTurn(): void {
    if (this.#cause === null || this.is('overfull')) return
    this.#cause = null
    this.#turn = new AbortController()
  }

  /** Whether there is this cause or a graver one. */
  is(from: StopCause): boolean {
    return this.#cause !== null && gravity(this.#cause) >= gravity(from)
  }

  /** Aborted by anything that ends the turn which began last. */
  get turn(): AbortSignal {
    return this.#turn.signal
  }

  /** Aborted by this cause and by graver ones, once and for good. */
  from(cause: StopCause): AbortSignal {
    if (gravity(cause) <= ENDS_TURN_ONLY) throw new Error(`"${cause}" ends a turn only.`)
    const known = this.#signals.get(cause)
    if (known) return known.signal
    const controller = new AbortController()
    if (this.is(cause)) controller.abort(this.#cause)
    this.#signals.set(cause, controller)
    return controller.signal
  }
}
