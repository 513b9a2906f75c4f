import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/error.ts'
import { API_PREFIX } from '../route.ts'

/** What the published clients ask of factories, and what lies below. */
const PATHS = ['/factory', '/factory/*', '/factory-files/*']
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Runyard has no factories, and the contract no route of them: every path below answers why. Without a key too: the published
 * clients send none to `/factory-files`.
 */
export function serveFactories(app: FastifyInstance): void {
  for (const path of PATHS)
    app.route({
      method: METHODS,
      url: API_PREFIX + path,
      onRequest: async () => {
        throw new AppError(
          'feature_not_available',
          'Runyard has no factories. Use agent identities, schedules and triggers for standing agents.',
          { status: 404 },
        )
      },
      handler: async () => undefined,
    })
}
