import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveNetworking(app: FastifyInstance, services: Services): void {
  serve(app, services, ROUTES.getEgressRanges, async () => ({ cidrs: services.settings.egress_ranges }))
}
