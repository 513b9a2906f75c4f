import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../context.ts'
import { requireVisited } from '../route.ts'

/** `GET /metrics` for Prometheus: with any key, or with the token of the operator, which works while the database is away. */
export function serveMetrics(app: FastifyInstance, { access, metrics, settings }: Services): void {
  const token = settings.metrics_token
  const isToken = (header: string | undefined): boolean =>
    token !== undefined && header !== undefined && isSame(header, `Bearer ${token}`)

  app.get('/metrics', async (request, reply) => {
    if (!isToken(request.headers.authorization)) {
      requireVisited({}, await access.authenticate(request), {})
    }
    return reply.header('content-type', metrics.contentType).send(await metrics.expose())
  })
}

/** In a time that says nothing about where they differ. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => createHash('sha256').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}
