import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveRepositories(app: FastifyInstance, services: Services): void {
  const { repositories } = services

  serve(app, services, ROUTES.listRepositories, ({ query, actor }) => repositories.list(actor, query))
  serve(app, services, ROUTES.listBranches, ({ query, actor }) => repositories.branches(actor, query))
}
