import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import { explainWaiting } from '../../intake/waiting.ts'
import { readQueuedRuns, readQueues } from '../../store/queue.ts'
import { listWorkers } from '../../store/workers.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveFleet(app: FastifyInstance, services: Services): void {
  const { store, settings } = services

  serve(app, services, ROUTES.listWorkers, async ({ query, actor }) => {
    const { limit = 500 } = query
    const workers = await listWorkers(store.db, { ...query, limit }, actor)
    return {
      workers: workers.slice(0, limit).map((worker) => ({
        ...worker,
        started_at: worker.started_at.toISOString(),
        seen_at: worker.seen_at?.toISOString() ?? null,
      })),
      has_more: workers.length > limit,
    }
  })

  serve(app, services, ROUTES.listSettings, async () => ({
    version: settings.version,
    settings: [...settings.in_force],
  }))

  serve(app, services, ROUTES.getQueue, async ({ query, actor }) => {
    const { limit = 50 } = query
    const [pools, runs] = await Promise.all([
      readQueues(store.db, query, actor),
      readQueuedRuns(store.db, { ...query, limit }, actor),
    ])
    const shown = runs.slice(0, limit)
    const reasons = await explainWaiting(
      store.db,
      shown.map(({ run_id }) => run_id),
      { actor, default_pool: settings.default_pool },
    )
    return {
      pools: pools.map((pool) => ({ ...pool, oldest_since: pool.oldest_since.toISOString() })),
      // One that a worker has taken meanwhile waits no more.
      runs: shown.flatMap(({ queued_since, ...run }) => {
        const waiting = reasons.get(run.run_id)
        return waiting ? [{ ...run, queued_since: queued_since.toISOString(), waiting }] : []
      }),
      has_more: runs.length > limit,
    }
  })
}
