import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../context.ts'
import { API_PREFIX, sendJson } from '../route.ts'

export function serveHealth(app: FastifyInstance, services: Services): void {
  const openapi = readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8')
  app.get('/healthz', async (_request, reply) =>
    sendJson(reply, 200, { status: 'ok', version: services.settings.version }),
  )
  app.get('/readyz', async (_request, reply) => {
    const readiness = await services.readiness()
    return sendJson(reply, readiness.ready ? 200 : 503, readiness)
  })
  app.get(`${API_PREFIX}/openapi.json`, async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(openapi),
  )
}
