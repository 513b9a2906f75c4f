import { setTimeout as wait } from 'node:timers/promises'
import type { NewEvent } from '../contract/event.ts'
import { refusesValue } from '../store/faults.ts'
import { EventRefused } from './event-refused.ts'
import { LeaseLost } from './lease-lost.ts'

/** Three seconds together: a fault that lasts longer is not one that passes by itself. */
const PAUSES_MS = [100, 200, 400, 800, 1_600]

export interface BatchStore {
  writing: AbortSignal
  /** False: the run does not take this attempt's events any more. */
  appendEvents(batch: number, events: NewEvent[]): Promise<boolean>
}

/**
 * Writes the batches of one attempt, one call at a time. A batch that fails is tried again before any later one, so that the
 * log has no gap that nobody knows of.
 */
export class BatchWriter {
  readonly #store: BatchStore
  /** Rises with each statement that may be stored, so that one whose answer was lost is stored once. */
  #batch = 0

  constructor(store: BatchStore) {
    this.#store = store
  }

  /**
   * False: the run does not take this attempt's events any more. An event that the database refuses for good is replaced by
   * an `error` event that names it, the rest of its batch is written, and `EventRefused` is thrown. Whatever else is thrown
   * means that events are missing and the log does not say so: nothing may be written after that.
   */
  async write(events: readonly NewEvent[]): Promise<boolean> {
    this.#batch += 1
    const fault = await this.#try(events)
    if (typeof fault === 'boolean') return fault
    return await this.#writeOneByOne(events)
  }

  /** The last fault where no try helps. */
  async #try(events: readonly NewEvent[]): Promise<boolean | { fault: unknown }> {
    for (const pause_ms of [...PAUSES_MS, null]) {
      try {
        return await this.#store.appendEvents(this.#batch, [...events])
      } catch (fault) {
        if (fault instanceof LeaseLost) throw fault
        if (pause_ms === null || isLasting(fault)) return { fault }
        await wait(pause_ms, undefined, { signal: this.#store.writing }).catch(() => {
          throw new LeaseLost()
        })
      }
    }
    throw new Error('A batch was given up without a reason.')
  }

  async #writeOneByOne(events: readonly NewEvent[]): Promise<boolean> {
    let refused: EventRefused | null = null
    for (const event of events) {
      this.#batch += 1
      const kept = await this.#store.appendEvents(this.#batch, [event]).catch(async (error: unknown) => {
        if (error instanceof LeaseLost) throw error
        const now = new EventRefused(event, error)
        refused ??= now
        return await this.#store.appendEvents(this.#batch, [
          { type: 'error', data: { message: now.message, error_code: 'internal_error', retryable: false } },
        ])
      })
      if (!kept) return false
    }
    if (refused) throw refused
    return true
  }
}

/** Of the value itself: no later try can go better. Too long for a text of JavaScript, say. */
const isLasting = (error: unknown): boolean =>
  error instanceof RangeError || error instanceof TypeError || refusesValue(error)
