import { setTimeout as wait } from 'node:timers/promises'
import { isCutShort, isLockTimeout, isUnavailable } from '../store/faults.ts'

/** Another worker may own the run by now, or it was cancelled: stop at once, write nothing more. */
export class LeaseLost extends Error {
  override name = 'LeaseLost'
  constructor() {
    super('The lease of the run is lost.')
  }
}

/**
 * A statement cut short may be one that always takes too long; on a machine under load it is one that does not now. An attempt
 * that gives up too soon cannot record its end either, and its run is handed back though its worker is well.
 */
const CUT_SHORT_TRIES = 5
const CUT_SHORT_MS = 60_000

/**
 * Repeats `work` while the database is away: an outage costs nobody a run, since the warden freezes the sandboxes and the
 * worker goes on afterwards unless it was declared lost. A lock that is not free in time is an outage as well: whoever holds
 * it stands still, and the server ends that session. A statement cut short is repeated for a minute. `work` must be safe to
 * repeat. An abort ends it with LeaseLost.
 */
export async function retrying<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const began = performance.now()
  let cut_short = 0
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (isCutShort(error)) cut_short += 1
      else if (!isUnavailable(error) && !isLockTimeout(error)) throw error
      if (cut_short >= CUT_SHORT_TRIES && performance.now() - began > CUT_SHORT_MS) throw error
      if (signal.aborted) throw new LeaseLost()
      const pause = Math.min(100 * 2 ** attempt, 2_000)
      await wait(pause, undefined, { signal }).catch(() => {
        throw new LeaseLost()
      })
    }
  }
}
