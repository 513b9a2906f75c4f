import { setTimeout as wait } from 'node:timers/promises'
import { isCutShort, isLockTimeout, isUnavailable } from '../store/db.ts'

/** Another worker may own the run by now, or it was cancelled: stop at once, write nothing more. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  constructor() {
    super('The lease of the run is lost.')
  }
}

const CUT_SHORT_TRIES = 5

/**
 * Repeats `work` while the database is away: an outage costs nobody a run, since the warden freezes the sandboxes and the
 * worker goes on afterwards unless it was declared lost. A lock that is not free in time is an outage as well: whoever holds
 * it stands still, and the server ends that session. A statement cut short is repeated a few times. `work` must be safe to
 * repeat. An abort ends it with LeaseLost.
 */
export async function retrying<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  let cut_short = 0
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (isCutShort(error)) cut_short += 1
      else if (!isUnavailable(error) && !isLockTimeout(error)) throw error
      if (cut_short === CUT_SHORT_TRIES) throw error
      if (signal.aborted) throw new LeaseLost()
      const pause = Math.min(100 * 2 ** attempt, 2_000)
      await wait(pause, undefined, { signal }).catch(() => {
        throw new LeaseLost()
      })
    }
  }
}
