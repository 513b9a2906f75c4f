import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import { readUsage } from '../../store/usage.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveUsage(app: FastifyInstance, services: Services): void {
  serve(app, services, ROUTES.getUsage, ({ query, actor }) => readUsage(services.store.db, query, actor))
}
