import { AppError } from '../contract/error.ts'
import { latestDue, nextAfter } from '../intake/cron.ts'
import type { RunServices } from '../intake/new-run.ts'
import { resolveScheduledRun } from '../intake/schedule.ts'
import { noteService } from '../store/audit-log.ts'
import { type Db, isCutShort, isLockTimeout, isUnavailable, transact } from '../store/db.ts'
import {
  advanceSchedule,
  type Clock,
  type DueSchedule,
  type FiringRow,
  findOpenRun,
  lockDue,
  noteNoRoom,
  recordFiring,
} from '../store/firings.ts'
import { insertRun } from '../store/new-runs.ts'
import { cancelScheduled } from '../store/transitions.ts'

/** Later than this, a due time was missed, not only late. */
const MISSED_MS = 60_000

/** How what a schedule says about itself begins while it waits for a limit on runs. */
const NO_ROOM = 'There is no room for its run yet, so it is tried again. '

/** The run was refused for now, a quota being full: the schedule stays due, and says so. */
export class NoRoom extends Error {
  override name = 'NoRoom'
}

/** What happened at a due time. */
export interface Fired {
  firing: FiringRow
  /** In which the new run waits. */
  pool: string | null
  cancelled: string[]
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
      takeTurn(trx, schedule_id, clock, async (_trx, turn) => refuse(turn, 'failed', reason)),
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
      return refuse(turn, 'failed', `There was no room for its run in time. ${waited.slice(NO_ROOM.length)}`)
    if (schedule.catch_up === 'skip' && late_ms > MISSED_MS)
      return refuse(turn, 'skipped', 'It was missed: the service was down or busy when it was due.')
    if (schedule.editor_disabled) {
      const reason = `${schedule.editor_name}, who saved the schedule last, is disabled. Its runs are created again once somebody else saves it.`
      return refuse(turn, 'failed', reason)
    }
    if (schedule.overlap === 'skip') {
      const open = await findOpenRun(trx, schedule_id)
      if (open) return refuse(turn, 'skipped', `An earlier run was not over: ${open}.`)
    }
    const run = await resolveScheduledRun({ ...services, db: trx }, schedule, schedule.editor_id)
    const firing: FiringRow = {
      ...{ due_at, fired_at: schedule.now, outcome: 'created', run_id: run.run_id },
      reason: due_at > schedule.next_run_at ? sinceWhen(schedule) : null,
    }
    if (!(await recordFiring(trx, schedule_id, firing)))
      return refuse(turn, 'skipped', 'This due time had passed before: a clock was set back.')
    const cancelled = schedule.overlap === 'cancel' ? await cancelScheduled(trx, schedule_id) : []
    await insertRun(trx, run, null, { open: services.open_runs })
    const who = { run_id: run.run_id, principal_id: run.creator_id }
    await noteService(trx, { action: 'createRun', ...who, detail: `schedule ${schedule_id}` })
    return { firing, pool: run.pool, cancelled }
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
  await advanceSchedule(trx, schedule_id, nextAfter(schedule, schedule.now), fired.firing)
  return fired
}

const refuse = ({ schedule, due_at }: Turn, outcome: 'skipped' | 'failed', reason: string): Fired => ({
  firing: { due_at, fired_at: schedule.now, outcome, run_id: null, reason },
  pool: null,
  cancelled: [],
})

const sinceWhen = ({ next_run_at }: DueSchedule): string =>
  `Due times from ${next_run_at.toISOString()} on were missed: the service was down or busy, or had no room for a run. This run stands for them, too.`
