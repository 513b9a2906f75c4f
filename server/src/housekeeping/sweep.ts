import { setTimeout as wait } from 'node:timers/promises'
import type { Store } from '../store/db.ts'
import { createFaultLog } from '../store/fault-log.ts'
import { BEAT_MS, SILENCE_MS } from '../store/lease-times.ts'
import { loseWorker } from '../store/leases.ts'
import { readLiveness, requeueLost } from '../store/transitions.ts'
import type { Watch } from '../store/watch.ts'
import { endLostSessions } from '../store/workers.ts'

/** Between two looks while a beat is overdue. */
const LOOK_MS = 500
/** A look that is late by more than this, or takes twice as long, and what was seen before says nothing. */
const LATE_MS = 500

/**
 * Declares workers lost that stopped beating and puts their runs back in the queue. Any process may run it. A worker is
 * judged only by this sweeper's own successful looks, each in time and done within a second, over six seconds of its own
 * clock: no database clock, and after an outage or a stall of this process no judgement from old memory. It looks when the
 * next beat is due, and from then on each half second until that is seen: no more often than workers beat while all are well,
 * and a loss is found as soon as by looking all the time. Putting back may take longer, so it holds up no look.
 *
 * `onFault`: a look failed; the database may be away.
 */
export function startSweep(
  store: Store,
  watch: Watch,
  log: SweepLog,
  onFault: () => void = () => {},
  now: () => number = () => performance.now(),
): () => Promise<void> {
  const seen = new Map<string, Sighting>()
  let last_read = Number.NEGATIVE_INFINITY
  let pause_ms = LOOK_MS
  const faults = createFaultLog(log, 'Taking the runs of lost workers back failed; trying again.')
  let recovering: Promise<void> | null = null

  /** Returns how long until the next one. */
  const look = async (): Promise<number> => {
    const began = now()
    const last = last_read
    // Unless this look succeeds.
    last_read = Number.NEGATIVE_INFINITY
    const { beats, has_lost } = await readLiveness(store.quick)
    const read = now()
    if (began - last > pause_ms + LATE_MS || read - began > 2 * LATE_MS) seen.clear()
    last_read = read
    const alive = new Set(beats.map((worker) => worker.worker_id))
    for (const id of seen.keys()) if (!alive.has(id)) seen.delete(id)
    let lost = has_lost
    for (const { worker_id, beat } of beats) {
      const before = seen.get(worker_id)
      if (before?.beat !== beat) seen.set(worker_id, sight(beat, read, { last, before }))
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
    const due = Math.min(read + BEAT_MS, ...[...seen.values()].map((sighting) => sighting.due))
    pause_ms = lost ? LOOK_MS : Math.max(LOOK_MS, due - now())
    return pause_ms
  }
  const recover = async (): Promise<void> => {
    await recoverRuns(store, watch, log)
    if (store.kind !== 'postgres') return
    const ended = await endLostSessions(store.quick)
    if (ended > 0) log.warn({ ended }, 'Database sessions of lost workers held on to runs and were ended.')
  }
  const stop = repeat(look, log, onFault)
  return async () => {
    await stop()
    await recovering
  }
}

interface Sighting {
  beat: number
  since: number
  /** How long the beat may have been there by then. */
  late_ms: number
  /** When to look for the next beat. */
  due: number
}

/** One that may have been seen late is looked for earlier the next time, so that a loss is found in time. */
function sight(
  beat: number,
  read: number,
  { last, before }: { last: number; before: Sighting | undefined },
): Sighting {
  // Beats are sent no more often, though one may arrive sooner after a late one.
  const drift_ms = before ? before.late_ms + read - before.since - (beat - before.beat) * BEAT_MS : BEAT_MS
  const late_ms = Math.min(read - last, drift_ms)
  return { beat, since: read, late_ms, due: read + BEAT_MS - (late_ms > LOOK_MS ? LOOK_MS : 0) }
}

export interface SweepLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Again and again until the function it returns is called. */
function repeat(work: () => Promise<number>, log: SweepLog, onFault: () => void): () => Promise<void> {
  const faults = createFaultLog(log, 'Looking for lost workers failed; trying again.')
  const stopping = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const pause_ms = await work().then(
        (next) => {
          faults.clear()
          return next
        },
        (error) => {
          faults.say(error)
          onFault()
          return LOOK_MS
        },
      )
      await wait(pause_ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  const ended = loop()
  return () => {
    stopping.abort()
    return ended
  }
}

/** Puts the runs of lost workers back, and says so. */
export async function recoverRuns(store: Store, watch: Watch, log: SweepLog): Promise<void> {
  const onFailure = (run_id: string, error: unknown) =>
    log.error({ err: error, run_id }, 'A run of a lost worker could not be taken back; trying again.')
  for (const { run_id, pool } of await requeueLost(store.quick, onFailure)) {
    log.info({ run_id }, 'A run of a lost worker was taken back.')
    watch.touchRun(run_id)
    watch.touchPool(pool)
  }
}
