import type { ModelCalls } from './harness.ts'

/** Longer than a model thinks whose answer comes in one piece. */
export const AGENT_SILENCE_SECONDS = 15 * 60

interface Surroundings {
  /** `0`: it may be silent for ever. */
  silence_ms: number
  /** All calls of models from the sandbox, absent where none go by the gateway. */
  calls: ModelCalls | undefined
  /** It has told of something that takes its time. */
  isBusy: () => boolean
  onSilent: () => void
}

/**
 * Watches for an agent that lives on in the middle of a turn and does nothing: it says nothing, asks for nothing, calls no
 * model. Such a one would work until the limit of the whole run.
 */
export class SilenceWatch {
  readonly #surroundings: Surroundings
  readonly #stopListening: () => void
  /** Calls that are not answered yet. */
  readonly #asked = new Set<string>()
  #heard = performance.now()
  #timer: NodeJS.Timeout | undefined
  #is_over = false

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
    const { calls, silence_ms } = surroundings
    this.#stopListening =
      calls?.listen(({ id, state }) => {
        if (state === 'began') this.#asked.add(id)
        else this.#asked.delete(id)
        this.hear()
      }) ?? (() => {})
    if (silence_ms > 0) this.#wait(silence_ms)
  }

  /** It was silent for too long, and its turn was ended. */
  get is_over(): boolean {
    return this.#is_over
  }

  /** It gave a sign of life. */
  hear(): void {
    this.#heard = performance.now()
  }

  close(): void {
    this.#stopListening()
    clearTimeout(this.#timer)
  }

  /** Not set anew with each sign: there may be thousands a second. */
  #wait(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#look(), milliseconds)
  }

  #look(): void {
    const { silence_ms, isBusy, onSilent } = this.#surroundings
    if (this.#asked.size > 0 || isBusy()) this.hear()
    const left_ms = this.#heard + silence_ms - performance.now()
    // A timer may be a little early.
    if (left_ms > 1) this.#wait(left_ms)
    else {
      this.#is_over = true
      onSilent()
    }
  }
}
