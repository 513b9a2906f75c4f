import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import type { Services } from '../context.ts'
import { readEarlier, sendOnce, serve } from '../route.ts'
import { requireRun } from './runs.ts'

export function servePullRequests(app: FastifyInstance, services: Services): void {
  const { store, pulls } = services

  serve(app, services, ROUTES.listPullRequests, async ({ params, actor }) => ({
    pull_requests: await pulls.list(await requireRun(services, params.run_id, actor)),
  }))

  serve(app, services, ROUTES.mergePullRequest, async (call) => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    const earlier = await readEarlier(store.db, call)
    if (earlier) return earlier.body
    // Not in the transaction of the key: a host may take its time, and what is merged twice is merged once.
    const body = await pulls.merge(run, call.actor, call.body)
    call.request.audit_detail = body.url
    return sendOnce(store.db, call, async () => ({ status: 200, body }))
  })
}
