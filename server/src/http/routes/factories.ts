import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/error.ts'
import type { Services } from '../context.ts'
import { API_PREFIX } from '../route.ts'

/** What the published clients ask of factories, and what lies below. */
const PATHS = ['/factory', '/factory/*', '/factory-files/*']
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Runyard has no factories, and no route of the contract: whoever asks for one hears why, whatever the path goes on with. */
export function serveFactories(app: FastifyInstance, { access }: Services): void {
  for (const path of PATHS)
    app.route({
      method: METHODS,
      url: API_PREFIX + path,
      onRequest: async (request) => {
        request.actor = await access.authenticate(request)
        throw new AppError(
          'feature_not_available',
          'Runyard has no factories. Use agent identities, schedules and triggers for standing agents.',
          { status: 404 },
        )
      },
      handler: async () => undefined,
    })
}
