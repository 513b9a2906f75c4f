import type { FastifyInstance } from 'fastify'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../../contract/actor.ts'
import { viewConfig } from '../../contract/environment.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import type { ScheduledAgentItem, ScheduleFiring } from '../../contract/schedule.ts'
import { checkRecurrence, nextAfter, nextTimes } from '../../intake/cron.ts'
import { requireSchema } from '../../intake/new-run.ts'
import { resolveSchedule, type ScheduleServices } from '../../intake/schedule.ts'
import { type Fired, runNow } from '../../intake/scheduled-run.ts'
import { warnOfRuns } from '../../intake/waiting.ts'
import type { Db } from '../../store/db.ts'
import { readEnvironment } from '../../store/environments.ts'
import { type FiringRow, listFirings } from '../../store/firings.ts'
import {
  deleteSchedule,
  findSchedule,
  insertSchedule,
  type ListedSchedule,
  listSchedules,
  readNow,
  replaceSchedule,
  turnSchedule,
} from '../../store/schedules.ts'
import type { Services } from '../context.ts'
import { intakeServices } from '../intake-services.ts'
import { sendOnce, serve } from '../route.ts'

/** As many as an answer shows. */
const NEXT_RUNS = 3

export function serveSchedules(app: FastifyInstance, services: Services): void {
  const { store, settings, watch } = services
  const intakeOn = (db: Db): ScheduleServices => ({
    ...intakeServices(services, db),
    min_schedule_seconds: settings.min_schedule_seconds,
  })

  const viewWhole = async (db: Db, row: ListedSchedule | null, actor: Actor): Promise<ScheduledAgentItem> => {
    const asker = { actor, default_pool: settings.default_pool }
    const viewed = viewFound(row)
    const { agent_config, agent_uid } = viewed
    const { environment_id } = agent_config
    const environment = environment_id ? await readEnvironment(db, environment_id, actor) : null
    return {
      ...viewed,
      ...(environment ? { environment: viewConfig(environment.config) } : {}),
      ...(await warnOfRuns(db, { ...agent_config, agent_uid }, asker)),
    }
  }

  serve(app, services, ROUTES.listSchedules, async ({ query, actor }) => {
    const { schedules, next_cursor } = await listSchedules(store.db, query, actor)
    return { schedules: schedules.map(viewSchedule), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.createSchedule, async (call) => {
    const { body, actor } = call
    await requireSchema(body.output_schema, actor)
    return sendOnce(store.db, call, async (db) => {
      const place = {
        schedule_id: uuidv7(),
        scope: body.team === false ? ('User' as const) : ('Team' as const),
      }
      const edit = { ...place, actor, before: null, now: await readNow(db) }
      const content = await resolveSchedule(intakeOn(db), body, edit)
      const row = await insertSchedule(db, { ...content, ...place, creator_id: actor.principal_id })
      return { status: 201, body: await viewWhole(db, row, actor) }
    })
  })

  serve(app, services, ROUTES.listScheduleTimes, async ({ query }) => {
    const recurrence = { cron_schedule: query.cron_schedule, time_zone: query.time_zone ?? 'UTC' }
    const now = await readNow(store.db)
    checkRecurrence(recurrence, now, settings.min_schedule_seconds)
    const times = nextTimes(recurrence, nextAfter(recurrence, now), NEXT_RUNS)
    return { next_runs: times.map((time) => time.toISOString()) }
  })

  serve(app, services, ROUTES.getSchedule, async ({ params: { schedule_id }, actor }) =>
    viewWhole(store.db, await findSchedule(store.db, schedule_id, actor), actor),
  )

  serve(app, services, ROUTES.updateSchedule, async ({ params: { schedule_id }, body, actor }) => {
    await requireSchema(body.output_schema, actor)
    const row = await replaceSchedule(store.db, schedule_id, actor, (trx, before, now) =>
      resolveSchedule(intakeOn(trx), body, {
        ...{ schedule_id: before.schedule_id, scope: before.scope },
        ...{ actor, before, now },
      }),
    )
    return viewWhole(store.db, row, actor)
  })

  serve(app, services, ROUTES.deleteSchedule, async ({ params: { schedule_id }, actor }) => {
    if (!(await deleteSchedule(store.db, schedule_id, actor))) throw noSuchSchedule()
    return { success: true }
  })

  for (const [route, next] of [
    [ROUTES.pauseSchedule, null],
    [ROUTES.resumeSchedule, nextAfter],
  ] as const) {
    serve(app, services, route, (call) =>
      sendOnce(store.db, call, async (db) => {
        const row = await turnSchedule(db, call.params.schedule_id, call.actor, next)
        return { status: 200, body: viewFound(row) }
      }),
    )
  }

  serve(app, services, ROUTES.runSchedule, async (call) => {
    const { actor, params } = call
    const schedule = await findSchedule(store.db, params.schedule_id, actor)
    if (!schedule) throw noSuchSchedule()
    let fired: Fired | undefined
    const sent = await sendOnce(store.db, call, async (db) => {
      fired = (await runNow(intakeServices(services, db), schedule.schedule_id, actor)) ?? undefined
      if (!fired) throw noSuchSchedule()
      return { status: 200, body: viewFiring(fired.firing) }
    })
    if (fired?.pool) watch.touchPool(fired.pool)
    for (const run_id of fired?.cancelled ?? []) watch.touchRun(run_id)
    return sent
  })

  serve(app, services, ROUTES.listFirings, async ({ params, query, actor }) => {
    const schedule = await findSchedule(store.db, params.schedule_id, actor)
    if (!schedule) throw noSuchSchedule()
    const { firings, next_cursor } = await listFirings(store.db, schedule.schedule_id, query)
    return { firings: firings.map(viewFiring), page_info: pageInfo(next_cursor) }
  })
}

const noSuchSchedule = (): AppError =>
  new AppError('resource_not_found', 'There is no schedule with this id.')

function viewFound(row: ListedSchedule | null): ScheduledAgentItem {
  if (!row) throw noSuchSchedule()
  return viewSchedule(row)
}

function viewSchedule(row: ListedSchedule): ScheduledAgentItem {
  const next_runs = row.next_run_at ? nextTimes(row, row.next_run_at, NEXT_RUNS) : []
  return {
    id: row.schedule_id,
    name: row.name,
    cron_schedule: row.cron_schedule,
    time_zone: row.time_zone,
    enabled: row.next_run_at !== null,
    overlap: row.overlap,
    catch_up: row.catch_up,
    prompt: row.prompt,
    agent_config: row.config,
    metadata: row.metadata,
    ...(row.mode ? { mode: row.mode } : {}),
    ...(row.title === null ? {} : { title: row.title }),
    ...(row.priority === null ? {} : { priority: row.priority }),
    ...(row.budget ? { budget: row.budget } : {}),
    ...(row.output_schema ? { output_schema: row.output_schema } : {}),
    ...(row.agent_uid === null ? {} : { agent_uid: row.agent_uid }),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    created_by: row.creator,
    updated_by: row.editor,
    scope: row.scope === 'Team' ? { type: 'Team' } : { type: 'User', uid: row.creator.uid },
    last_spawn_error: row.last_spawn_error,
    history: {
      last_ran: row.last_ran_at?.toISOString() ?? null,
      next_run: row.next_run_at?.toISOString() ?? null,
    },
    next_runs: next_runs.map((time) => time.toISOString()),
  }
}

const viewFiring = ({ due_at, fired_at, outcome, run_id, reason, asked_by }: FiringRow): ScheduleFiring => ({
  due_at: due_at.toISOString(),
  fired_at: fired_at.toISOString(),
  outcome,
  ...(run_id === null ? {} : { run_id }),
  ...(reason === null ? {} : { reason }),
  ...(asked_by === null ? {} : { asked_by }),
})
