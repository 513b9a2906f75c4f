import { setTimeout as wait } from 'node:timers/promises'
import type { RunServices } from '../intake/new-run.ts'
import type { Fired } from '../intake/scheduled-run.ts'
import { isUnavailable } from '../store/faults.ts'
import { type Clock, isDue, readDue } from '../store/firings.ts'
import { now } from '../store/sql-fragments.ts'
import { DELIVERY_WAITS } from '../store/trigger-deliveries.ts'
import type { Watch } from '../store/watch.ts'
import { fireSchedule, isPassing, NoRoom } from './fire.ts'
import { retryDeliveries } from './waiting-deliveries.ts'

/** While one is due and was left. */
const LOOK_MS = 1_000
/** At most, where the next due time is far: a clock may be set. */
const REST_MS = 30_000
/** One that cannot be fired here, and cannot be noted as failed either, keeps no others from being fired. */
const ASIDE_MS = 60_000
/** One that met a full quota is tried again after so long, several times within the minute that a due time is on time. */
const NO_ROOM_MS = 10_000
/** Between two looks at deliveries that wait for room. */
const WAITING_MS = 5_000

interface Logger {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

export interface SchedulerOptions {
  /** As runs are created with. */
  intake: RunServices
  watch: Watch
  log: Logger
  /** The database's; tests have one of their own. */
  clock?: Clock
}

/**
 * Fires schedules when they are due, until the function it returns is called. Any number of processes may: the database says
 * what is due, and each due time is one process's, or after its death another's. It sleeps until the next due time, unless
 * the watch finds that something is due before it: a schedule that was just made.
 */
export function startScheduler({ intake, watch, log, clock = now }: SchedulerOptions): () => Promise<void> {
  const stopping = new AbortController()
  /** Schedules that are left alone, and until when. */
  const aside = new Map<string, number>()
  let said = ''
  let found = Promise.withResolvers<void>()
  let retry_at = Number.NEGATIVE_INFINITY

  /** What went wrong, once: a database that is not migrated yet says so each second. */
  const complain = (error: unknown, schedule_id?: string): void => {
    const text = `${schedule_id} ${error instanceof Error ? error.message : error}`
    if (isUnavailable(error) || text === said) return
    said = text
    log.warn({ err: error, schedule_id }, 'Schedules could not be fired; trying again.')
  }

  /** How long until there is more to do. */
  const look = async (): Promise<number> => {
    for (const [schedule_id, until] of aside) if (performance.now() > until) aside.delete(schedule_id)
    const { schedule_ids, wait_ms } = await readDue(intake.db, clock, [...aside.keys()])
    let fired = 0
    for (const schedule_id of schedule_ids) {
      if (stopping.signal.aborted) return 0
      const done = await fireSchedule(intake, schedule_id, clock).catch((error: unknown) => {
        if (error instanceof NoRoom) {
          aside.set(schedule_id, performance.now() + NO_ROOM_MS)
          log.info({ schedule_id, reason: error.message }, 'A schedule waits for room for its run.')
          return null
        }
        complain(error, schedule_id)
        if (!isPassing(error)) aside.set(schedule_id, performance.now() + ASIDE_MS)
        return null
      })
      if (!done) continue
      fired += 1
      tell(schedule_id, done)
    }
    if (fired > 0) return 0
    // What is due and was left is another process's, or cannot be done now.
    return schedule_ids.length > 0 ? LOOK_MS : Math.min(wait_ms ?? REST_MS, REST_MS)
  }

  const tell = (schedule_id: string, { firing, pool, cancelled }: Fired): void => {
    if (pool !== null) watch.touchPool(pool)
    for (const run_id of cancelled) watch.touchRun(run_id)
    const details = { schedule_id, due_at: firing.due_at, run_id: firing.run_id, reason: firing.reason }
    if (firing.outcome === 'failed') log.warn(details, 'A schedule could not create its run.')
    else
      log.info(
        details,
        firing.outcome === 'created' ? 'A schedule created a run.' : 'A due time was skipped.',
      )
  }

  /** Deliveries of triggers that wait for room, too: this is the loop that starts what others asked for earlier. */
  const retry = async (): Promise<void> => {
    if (performance.now() < retry_at) return
    retry_at = performance.now() + WAITING_MS
    const started = await retryDeliveries(intake, {
      signal: stopping.signal,
      onFault: (err, delivery_id) =>
        log.warn({ err, delivery_id }, 'A delivery that waited could not be handled, and is given up.'),
    })
    // There may be room for more, and what comes meanwhile queues behind what waits.
    if (started.length > 0) retry_at = Number.NEGATIVE_INFINITY
    for (const { run_id, pool, delivery } of started) {
      if (run_id !== null) watch.touchRun(run_id)
      if (pool !== null) watch.touchPool(pool)
      log.info({ delivery_id: delivery.delivery_id, run_id }, 'A delivery that waited for room was handled.')
    }
  }

  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      found = Promise.withResolvers()
      const wait_ms = await look().catch((error: unknown) => {
        complain(error)
        return LOOK_MS
      })
      await retry().catch((error: unknown) => complain(error))
      await Promise.race([found.promise, pause(wait_ms)])
    }
  }
  const pause = (ms: number) => wait(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
  const unsubscribes = [isDue(clock), DELIVERY_WAITS].map((question) =>
    watch.onWaiting(question, () => found.resolve()),
  )
  const ended = loop()
  return async () => {
    for (const unsubscribe of unsubscribes) unsubscribe()
    stopping.abort()
    await ended
  }
}
