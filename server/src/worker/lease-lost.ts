import { setTimeout as wait } from 'node:timers/promises'
import { isUnavailable } from '../store/db.ts'

/** Another worker may own the run by now, or it was cancelled: stop at once, write nothing more. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  constructor() {
    super('The lease of the run is lost.')
  }
}

/**
 * Repeats `work` while the database is away: an outage costs nobody a run, since the warden freezes the sandboxes and the
 * worker goes on afterwards unless it was declared lost. `work` must be safe to repeat. An abort ends it with LeaseLost.
 */
export async function retrying<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      if (signal.aborted) throw new LeaseLost()
      const pause = Math.min(100 * 2 ** attempt, 2_000)
      await wait(pause, undefined, { signal }).catch(() => {
        throw new LeaseLost()
      })
    }
  }
}
