import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import { noteService } from '../store/audit-log.ts'
import { transact } from '../store/db.ts'
import {
  advanceSchedule,
  type FiringRow,
  type FiringSchedule,
  findFiringTime,
  findOpenRun,
  lockToRun,
  recordFiring,
} from '../store/firings.ts'
import { insertRun } from '../store/new-runs.ts'
import { cancelScheduled } from '../store/transitions.ts'
import type { RunServices } from './new-run.ts'
import { resolveScheduledRun } from './schedule.ts'

/** What a schedule did, at a due time or because somebody asked for it. */
export interface Fired {
  firing: FiringRow
  /** In which the new run waits. */
  pool: string | null
  cancelled: string[]
}

type Firing = Omit<FiringRow, 'outcome' | 'run_id'>

export const skipped = (firing: Firing, reason: string): Fired => ({
  firing: { ...firing, outcome: 'skipped', run_id: null, reason },
  pool: null,
  cancelled: [],
})

/**
 * Creates the run of a schedule whose row the transaction `services.db` has locked, and records the firing; a skipped one is the
 * caller's to record. Throws what a create is refused with.
 */
export async function createScheduledRun(
  services: RunServices,
  schedule: FiringSchedule,
  firing: Firing,
): Promise<Fired> {
  const { db } = services
  const { schedule_id, editor_name } = schedule
  if (schedule.editor_disabled)
    throw new AppError(
      'not_authorized',
      `${editor_name}, who saved the schedule last, is disabled. Its runs are created again once somebody else saves it.`,
    )
  if (schedule.overlap === 'skip') {
    const open = await findOpenRun(db, schedule_id)
    if (open) return skipped(firing, `An earlier run was not over: ${open}.`)
  }
  const run = await resolveScheduledRun(services, schedule, schedule.editor_id)
  const created: FiringRow = { ...firing, outcome: 'created', run_id: run.run_id }
  if (!(await recordFiring(db, schedule_id, created)))
    return skipped(firing, 'This due time had passed before: a clock was set back.')
  const cancelled = schedule.overlap === 'cancel' ? await cancelScheduled(db, schedule_id) : []
  await insertRun(db, run, null, { open: services.open_runs })
  const who = { run_id: run.run_id, principal_id: run.creator_id }
  await noteService(db, { action: 'createRun', ...who, detail: `schedule ${schedule_id}` })
  return { firing: created, pool: run.pool, cancelled }
}

/**
 * Has a schedule run at once, paused or not, and leaves its next time as it is; `null` when it is gone. Whoever asks has found it.
 */
export const runNow = (
  services: RunServices,
  schedule_id: string,
  { principal_id }: Pick<Actor, 'principal_id'>,
): Promise<Fired | null> =>
  transact(services.db, async (db) => {
    const schedule = await lockToRun(db, schedule_id)
    if (!schedule) return null
    const asked = await findFiringTime(db, schedule_id, principal_id)
    const fired = await createScheduledRun({ ...services, db }, schedule, { ...asked, reason: null })
    if (fired.firing.outcome !== 'created') await recordFiring(db, schedule_id, fired.firing)
    await advanceSchedule(db, schedule_id, fired.firing)
    return fired
  })
