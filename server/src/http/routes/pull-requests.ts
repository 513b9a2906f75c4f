import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import type { Services } from '../context.ts'
import { sendOnceOutside, serve } from '../route.ts'
import { requireRun } from './runs.ts'

export function servePullRequests(app: FastifyInstance, services: Services): void {
  const { store, pulls } = services

  serve(app, services, ROUTES.listPullRequests, async ({ params, actor }) => ({
    pull_requests: await pulls.list(await requireRun(services, params.run_id, actor)),
  }))

  serve(app, services, ROUTES.mergePullRequest, async (call) => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    return sendOnceOutside(store.db, call, async () => {
      const body = await pulls.merge(run, call.actor, call.body)
      call.request.audit_detail = body.url
      return { status: 200, body }
    })
  })
}
