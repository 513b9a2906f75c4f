import { setTimeout as wait } from 'node:timers/promises'
import type { Store } from '../store/db.ts'
import { loseWorker } from '../store/leases.ts'
import { readLiveness, requeueLost } from '../store/transitions.ts'
import type { Watch } from '../store/watch.ts'
import { endLostSessions } from '../store/workers.ts'
import type { Logger } from './context.ts'
import { createFaultLog } from './fault-log.ts'

const LOOK_MS = 500
/** Longer than this without a look, or for one, and what was seen before says nothing. */
const GAP_MS = 1_000
/** A worker that has not beaten for so long is declared lost. */
export const SILENCE_MS = 6_000

/**
 * Declares workers lost that stopped beating and puts their runs back in the queue. Any process may run it. A worker is
 * judged only by this sweeper's own successful looks, each within a second of the one before and done within a second,
 * over six seconds of its own clock: no database clock, and after an outage or a stall of this process no judgement from
 * old memory. Putting back may take longer, so it holds up no look.
 */
export function startSweep(
  store: Store,
  watch: Watch,
  log: Logger,
  now: () => number = () => performance.now(),
): () => Promise<void> {
  const seen = new Map<string, { beat: number; since: number }>()
  let last_read = Number.NEGATIVE_INFINITY
  const faults = createFaultLog(log, 'Taking the runs of lost workers back failed; trying again.')
  let recovering: Promise<void> | null = null

  const look = async (): Promise<void> => {
    const began = now()
    const { beats, has_lost } = await readLiveness(store.quick)
    const read = now()
    if (began - last_read > GAP_MS || read - began > GAP_MS) seen.clear()
    last_read = read
    const alive = new Set(beats.map((worker) => worker.worker_id))
    for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
    let lost = has_lost
    for (const { worker_id, beat } of beats) {
      const before = seen.get(worker_id)
      if (before?.beat !== beat) seen.set(worker_id, { beat, since: read })
      else if (began - before.since >= SILENCE_MS && (await loseWorker(store.quick, worker_id, beat))) {
        log.warn({ worker_id }, 'A worker stopped beating and was declared lost.')
        lost = true
      }
    }
    // What fails here, or is lost meanwhile, the next look finds.
    if (lost)
      recovering ??= recover()
        .then(faults.clear, faults.say)
        .finally(() => {
          recovering = null
        })
  }
  const recover = async (): Promise<void> => {
    await recoverRuns(store, watch, log)
    if (store.kind !== 'postgres') return
    const ended = await endLostSessions(store.quick)
    if (ended > 0) log.warn({ ended }, 'Database sessions of lost workers held on to runs and were ended.')
  }
  const stop = repeat(look, log)
  return async () => {
    await stop()
    await recovering
  }
}

/** Again and again until the function it returns is called. */
function repeat(work: () => Promise<void>, log: Logger): () => Promise<void> {
  const faults = createFaultLog(log, 'Looking for lost workers failed; trying again.')
  const stopping = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await work().then(faults.clear, faults.say)
      await wait(LOOK_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  const ended = loop()
  return () => {
    stopping.abort()
    return ended
  }
}

/** Puts the runs of lost workers back, and says so. */
export async function recoverRuns(store: Store, watch: Watch, log: Logger): Promise<void> {
  const onFailure = (run_id: string, error: unknown) =>
    log.error({ err: error, run_id }, 'A run of a lost worker could not be taken back; trying again.')
  for (const { run_id, pool } of await requeueLost(store.quick, onFailure)) {
    log.info({ run_id }, 'A run of a lost worker was taken back.')
    watch.touchRun(run_id)
    watch.touchPool(pool)
  }
}
