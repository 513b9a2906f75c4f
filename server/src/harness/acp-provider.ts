import type { NewEvent } from '../contract/event.ts'
import type { ModelCall, ModelCalls, Outcome } from './harness.ts'
import { judgeModelCall, type ModelFailure } from './model-errors.ts'
import { available, IS_ADDRESS_RIGHT, type Models } from './models.ts'
import { modelOutcome } from './provider-refusal.ts'
import { describeTries } from './retries.ts'

/** An agent may ask again at once, over and over. */
const TELL_MS = 1_000
/** Of failures that new tries do not help against, those of every call: others are the agent's to deal with. */
const OF_ALL_CALLS = [
  'external_authentication_required',
  'insufficient_credits',
  'integration_not_configured',
]

/** In a row, of those: one alone may be of a model beside the agent's own. */
const MAX_REFUSALS = 3

interface Surroundings {
  calls: ModelCalls | undefined
  /** Whose calls are the agent's; its commands may call others. */
  provider: string | undefined
  models: Models
  /** For so long an agent may ask again. */
  retry_for_ms: number
  emit: (event: NewEvent) => void
  /** The time is over; `outcome` says why. */
  onGivenUp: () => void
}

/**
 * Listens to an agent's calls of models during a turn. Agents have words of their own for what a provider answers, or none, and
 * ask again in silence: what fails is told, judged as the built-in loop judges it, and for so long only.
 */
export class ProviderWatch {
  readonly #surroundings: Surroundings
  readonly #stopListening: () => void
  readonly #at_work = new Set<string>()
  /** Of the call that ended last, unless that was answered. */
  #failure: ModelFailure | null = null
  /** Calls that were at work beside the one that failed last. */
  #beside: ReadonlySet<string> = new Set()
  /** Behind it only such a call was answered, as for a title, which says nothing of why an agent fails. */
  #passed: ModelFailure | null = null
  #tries = 0
  #began = 0
  #told = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #is_late = false
  #gave_up = false

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings
    this.#stopListening =
      surroundings.calls?.listen((call) => {
        if (call.provider === surroundings.provider) this.#hear(call)
      }) ?? (() => {})
  }

  /** It has ended the turn. */
  get gave_up(): boolean {
    return this.#gave_up
  }

  /**
   * How the turn ends for what the last call failed with; `null`: it did not. `reported`: the agent itself says that it failed.
   */
  async outcome(reported: boolean): Promise<Outcome | null> {
    await this.#surroundings.calls?.settle()
    const failure = this.#failure ?? (reported ? this.#passed : null)
    if (failure === null) return null
    if (failure.type === 'unknown_model') {
      const { asked } = failure
      if (asked && !asked.is_api)
        return modelOutcome('FAILED', `${asked.answer}. ${IS_ADDRESS_RIGHT}`, 'integration_not_configured')
      const listed = available(await this.#surroundings.models.list())
      const message = `The provider does not know the model that the agent asked for. ${listed}`
      return modelOutcome('FAILED', message, 'integration_not_configured')
    }
    const { outcome } = failure
    if (failure.type !== 'passing' || this.#tries === 0) return outcome
    const tried = describeTries(this.#tries, performance.now() - this.#began)
    const message = `${outcome.status_message?.message}${tried}`
    return { ...outcome, status_message: { ...outcome.status_message, message } }
  }

  close(): void {
    this.#stopListening()
    clearTimeout(this.#timer)
  }

  #hear(call: ModelCall): void {
    if (call.state === 'began') {
      this.#at_work.add(call.id)
      return
    }
    this.#at_work.delete(call.id)
    if (call.state === 'answered') this.#reset(this.#beside.has(call.id))
    if (call.state === 'failed') this.#note(judgeModelCall(call.failure, call.provider))
    if (this.#is_late && (call.state === 'failed' || this.#at_work.size === 0)) this.#giveUp()
  }

  #reset(was_beside: boolean): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#passed = was_beside ? (this.#failure ?? this.#passed) : null
    this.#failure = null
    this.#tries = 0
    this.#is_late = false
  }

  #note(failure: ModelFailure): void {
    const now = performance.now()
    this.#failure = failure
    this.#beside = new Set(this.#at_work)
    if (!lasts(failure)) return
    if (this.#tries === 0) this.#began = now
    this.#tries += 1
    const { retry_for_ms, emit } = this.#surroundings
    this.#timer ??= setTimeout(() => this.#expire(), retry_for_ms)
    const { most } = failure.type === 'passing' ? failure : {}
    if (most !== undefined) this.#is_late ||= this.#tries > most
    if (failure.type !== 'passing') this.#is_late ||= this.#tries >= MAX_REFUSALS
    if (failure.type !== 'passing' || now - this.#told < TELL_MS) return
    this.#told = now
    const { message = '', error_code = 'resource_unavailable' } = failure.outcome.status_message ?? {}
    emit({ type: 'retrying', data: { error_code, message, retry: this.#tries, delay_ms: 0 } })
  }

  /** A call that is at work may still be answered. */
  #expire(): void {
    this.#is_late = true
    if (this.#at_work.size === 0) this.#giveUp()
  }

  #giveUp(): void {
    if (this.#gave_up) return
    this.#gave_up = true
    this.#surroundings.onGivenUp()
  }
}

const lasts = (failure: ModelFailure): boolean =>
  failure.type === 'passing' ||
  (failure.type === 'final' && OF_ALL_CALLS.includes(failure.outcome.status_message?.error_code ?? ''))
