import { AppError } from '../contract/error.ts'
import { latestDue, nextAfter } from '../intake/cron.ts'
import type { RunServices } from '../intake/new-run.ts'
import { createScheduledRun, type Fired, skipped } from '../intake/scheduled-run.ts'
import { type Db, transact } from '../store/db.ts'
import { isCutShort, isLockTimeout, isUnavailable } from '../store/faults.ts'
import {
  advanceSchedule,
  type Clock,
  type DueSchedule,
  lockDue,
  noteNoRoom,
  recordFiring,
} from '../store/firings.ts'

/** Later than this, a due time was missed, not only late. */
const MISSED_MS = 60_000

/** How what a schedule says about itself begins while it waits for a limit on runs. */
const NO_ROOM = 'There is no room for its run yet, so it is tried again. '

/** The run was refused for now, a quota being full: the schedule stays due, and says so. */
export class NoRoom extends Error {
  override name = 'NoRoom'
}

interface Turn {
  schedule: DueSchedule
  due_at: Date
}

/**
 * Does what a schedule is to do now: the run, the firing and the schedule's next time in one transaction. `null`: there is
 * nothing to do, or another process does it. Whatever a run is refused with is kept for people. Throws
 * `NoRoom`; throws where the database is away or busy, and then nothing has happened; and what nobody foresaw, which is kept as a failure first.
 */
export async function fireSchedule(
  services: RunServices,
  schedule_id: string,
  clock: Clock,
): Promise<Fired | null> {
  try {
    return await transact(services.db, (trx) => takeTurn(trx, schedule_id, clock, fire))
  } catch (error) {
    if (isPassing(error)) throw error
    if (error instanceof AppError && error.retryable) {
      await noteNoRoom(services.db, schedule_id, NO_ROOM + error.detail)
      throw new NoRoom(error.detail)
    }
    const reason = error instanceof AppError ? error.detail : 'The service failed to create the run.'
    const fired = await transact(services.db, (trx) =>
      takeTurn(trx, schedule_id, clock, async (_trx, turn) => failed(turn, reason)),
    )
    // Refusals are for whoever owns the schedule, anything else for whoever keeps the service, too.
    if (!(error instanceof AppError)) throw error
    return fired
  }

  async function fire(trx: Db, turn: Turn): Promise<Fired> {
    const { schedule, due_at } = turn
    const late_ms = schedule.now.getTime() - due_at.getTime()
    const { last_spawn_error: waited } = schedule
    if (schedule.catch_up === 'skip' && late_ms > MISSED_MS && waited?.startsWith(NO_ROOM))
      return failed(turn, `There was no room for its run in time. ${waited.slice(NO_ROOM.length)}`)
    if (schedule.catch_up === 'skip' && late_ms > MISSED_MS)
      return skipped(at(turn), 'It was missed: the service was down or busy when it was due.')
    return createScheduledRun({ ...services, db: trx }, schedule, at(turn))
  }
}

/** Of the database: the same may be done a moment later. */
export const isPassing = (error: unknown): boolean =>
  isUnavailable(error) || isCutShort(error) || isLockTimeout(error)

/** `null` when the schedule is not due any more, or another process has it. */
async function takeTurn(
  trx: Db,
  schedule_id: string,
  clock: Clock,
  act: (trx: Db, turn: Turn) => Promise<Fired>,
): Promise<Fired | null> {
  const schedule = await lockDue(trx, schedule_id, clock)
  if (!schedule) return null
  const due_at = latestDue(schedule, schedule.next_run_at, schedule.now)
  const fired = await act(trx, { schedule, due_at })
  if (fired.firing.outcome !== 'created') await recordFiring(trx, schedule_id, fired.firing)
  await advanceSchedule(trx, schedule_id, fired.firing, nextAfter(schedule, schedule.now))
  return fired
}

const at = ({ schedule, due_at }: Turn) => ({
  ...{ due_at, fired_at: schedule.now, asked_by: null },
  reason: due_at > schedule.next_run_at ? sinceWhen(schedule) : null,
})

const failed = (turn: Turn, reason: string): Fired => ({
  firing: { ...at(turn), outcome: 'failed', run_id: null, reason },
  pool: null,
  cancelled: [],
})

const sinceWhen = ({ next_run_at }: DueSchedule): string =>
  `Due times from ${next_run_at.toISOString()} on were missed: the service was down or busy, or had no room for a run. This run stands for them, too.`
