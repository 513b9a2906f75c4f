import type { Store } from '../store/db.ts'
import { loseWorker, readBeats } from '../store/leases.ts'
import { requeueLost } from '../store/transitions.ts'
import type { Watch } from '../store/watch.ts'
import { endLostSessions } from '../store/workers.ts'
import type { Logger } from './context.ts'

const LOOK_MS = 500
/** Longer than this between two reads, and what was seen before says nothing. */
const GAP_MS = 1_000
/** A worker that has not beaten for so long is declared lost. */
export const SILENCE_MS = 6_000

/**
 * Declares workers lost that stopped beating and puts their runs back in the queue. Any process may run it. A worker is
 * judged only by this sweeper's own successful reads, at most a second apart, over six seconds of its own clock: no
 * database clock, and after an outage or a stall of this process no judgement from old memory.
 */
export function startSweep(
  store: Store,
  watch: Watch,
  log: Logger,
  now: () => number = () => performance.now(),
): () => Promise<void> {
  const seen = new Map<string, { beat: number; since: number }>()
  let last_read = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const look = async (): Promise<void> => {
    const began = now()
    const beats = await readBeats(store.quick)
    const read = now()
    if (read - last_read > GAP_MS) seen.clear()
    last_read = read
    const alive = new Set(beats.map((worker) => worker.worker_id))
    for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
    for (const { worker_id, beat } of beats) {
      const before = seen.get(worker_id)
      if (before?.beat !== beat) seen.set(worker_id, { beat, since: read })
      else if (began - before.since >= SILENCE_MS && (await loseWorker(store.quick, worker_id, beat))) {
        log.warn({ worker_id }, 'A worker stopped beating and was declared lost.')
      }
    }
    await recoverRuns(store, watch, log)
    if (store.kind === 'postgres') {
      const ended = await endLostSessions(store.quick)
      if (ended > 0) log.warn({ ended }, 'Database sessions of lost workers held on to runs and were ended.')
    }
  }
  let looking: Promise<void> = Promise.resolve()
  const loop = (): void => {
    looking = look()
      .catch(() => {
        // The database is away: nobody is judged.
      })
      .then(() => {
        if (!stopped) timer = setTimeout(loop, LOOK_MS)
        timer?.unref()
      })
  }
  loop()
  return async () => {
    stopped = true
    clearTimeout(timer)
    await looking
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
