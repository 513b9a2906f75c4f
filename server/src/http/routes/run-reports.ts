import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/error.ts'
import type { RunEvent } from '../../contract/event.ts'
import { ROUTES } from '../../contract/routes.ts'
import { countsItself, HARNESS_USAGE_TYPES, HarnessUsageCount } from '../../log/harness-usage.ts'
import { readTimeline, TIMELINE_TYPES } from '../../log/timeline.ts'
import { findRunByUrl, readEventsOf, readReleases } from '../../store/run-reports.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'
import { requireRun } from './runs.ts'

export function serveRunReports(app: FastifyInstance, services: Services): void {
  const { db } = services.store

  serve(app, services, ROUTES.getRunTimeline, async ({ params, actor }) => {
    const { run_id } = await requireRun(services, params.run_id, actor)
    const log: RunEvent[] = []
    for await (const events of readEventsOf(db, run_id, TIMELINE_TYPES)) log.push(...events)
    return { events: readTimeline(run_id, log, await readReleases(db, run_id)) }
  })

  serve(app, services, ROUTES.getHarnessUsage, async ({ params, actor }) => {
    const { run_id, conversation_id, ...run } = await requireRun(services, params.run_id, actor)
    const agent = run.resolved?.harness ?? run.config.harness?.type ?? ''
    const found = { run_id, conversation_id }
    if (!countsItself(agent)) return { available: false, ...found }
    const count = new HarnessUsageCount()
    for await (const events of readEventsOf(db, run_id, HARNESS_USAGE_TYPES))
      for (const event of events) count.add(event)
    const usage = count.read(agent)
    if (!usage) return { available: false, ...found }
    const age_seconds = Math.max(0, Math.floor((Date.now() - Date.parse(usage.capturedAt)) / 1_000))
    return { available: true, ...found, age_seconds, usage }
  })

  serve(app, services, ROUTES.findRunByReference, async ({ query, actor }) => {
    const run_id = await findRunByUrl(db, query.url, actor)
    if (run_id === null)
      throw new AppError('resource_not_found', 'No run that you may see has produced this address.')
    return { run_id }
  })
}
