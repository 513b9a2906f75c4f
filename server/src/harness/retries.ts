import { setTimeout as delay } from 'node:timers/promises'
import type { EventData } from '../contract/event.ts'
import type { Outcome } from './harness.ts'
import type { PassingFailure } from './model-errors.ts'

export interface RetryOptions {
  /** Failures that follow each other are met with new tries for so long. */
  retry_for_ms: number
  /** Before the first new try; doubled each time, up to half a minute. */
  retry_delay_ms: number
}

const MAX_DELAY_MS = 30_000
export const RETRY_FOR_MS = 5 * 60_000
const DEFAULT: RetryOptions = { retry_for_ms: RETRY_FOR_MS, retry_delay_ms: 1_000 }

/** The failures of a provider one after the other, until a step comes through. */
export class Retries {
  readonly #options: RetryOptions
  #count = 0
  /** Of them, those that more tries help little against. */
  #limited = 0
  #began = 0

  constructor(options: Partial<RetryOptions> = {}) {
    this.#options = { ...DEFAULT, ...options }
  }

  /** A step came through. */
  reset(): void {
    this.#count = 0
    this.#limited = 0
  }

  /** What is to be waited for before the next try; an outcome when there is none. */
  next({ outcome, wait_ms, most }: PassingFailure): EventData<'retrying'> | Outcome {
    const now = performance.now()
    if (this.#count === 0) this.#began = now
    const { retry_delay_ms, retry_for_ms } = this.#options
    const doubled = Math.min(MAX_DELAY_MS, retry_delay_ms * 2 ** this.#count)
    // Half of it at random: many runs may wait for one provider.
    const jittered = doubled * (0.5 + Math.random() / 2)
    const delay_ms = Math.round(wait_ms === undefined ? jittered : Math.max(wait_ms, retry_delay_ms))
    const left_ms = this.#began + retry_for_ms - now
    const { message = '', error_code = 'resource_unavailable' } = outcome.status_message ?? {}
    if (delay_ms > left_ms || (most !== undefined && this.#limited >= most))
      return this.#giveUp(outcome, message, wait_ms)
    this.#count += 1
    if (most !== undefined) this.#limited += 1
    return { error_code, message, retry: this.#count, delay_ms }
  }

  #giveUp(outcome: Outcome, message: string, wait_ms: number | undefined): Outcome {
    const told = wait_ms === undefined ? '' : ` It asks to wait ${describeTime(wait_ms)}.`
    const tried = describeTries(this.#count + 1, performance.now() - this.#began)
    return {
      ...outcome,
      status_message: { ...outcome.status_message, message: `${message}${told}${tried}` },
    }
  }
}

/** A sentence to go on with; empty where there was one try alone. */
export const describeTries = (count: number, milliseconds: number): string =>
  count <= 1 ? '' : ` ${count} tries in ${describeTime(milliseconds)}.`

/** Ends early when the signal fires. */
export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  delay(milliseconds, undefined, { signal }).catch(() => {})

export function describeTime(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1_000)
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`
}
