import type { FastifyInstance } from 'fastify'
import type { Environment, EnvironmentConfig } from '../../contract/environment.ts'
import { isEnvironmentId } from '../../contract/environment-id.ts'
import { AppError } from '../../contract/error.ts'
import { imageRefusal, judgeImage } from '../../contract/image.ts'
import { findExcess } from '../../contract/limits.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { MASK, seal } from '../../sealing/sealing.ts'
import {
  findEnvironment,
  insertEnvironment,
  type ListedEnvironment,
  listEnvironments,
} from '../../store/environments.ts'
import { randomText } from '../../store/random-text.ts'
import type { Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'

export function serveEnvironments(app: FastifyInstance, services: Services): void {
  const { store, settings } = services
  const seal_key = settings.keyring

  serve(app, services, ROUTES.listEnvironments, async ({ query }) => {
    const { environments, next_cursor } = await listEnvironments(store.db, query)
    return { environments: environments.map(viewEnvironment), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.createEnvironment, async (call) => {
    const { docker_image } = call.body
    if (docker_image && settings.images && !judgeImage(docker_image, settings.images))
      throw new AppError('feature_not_available', imageRefusal(docker_image))
    const excess = findExcess(call.body.limits, settings.limit_maxima)
    if (excess) throw new AppError('invalid_request', excess)
    return sendOnce(store.db, call, async (db) => {
      const uid = randomText(22)
      const { variables, ...config } = call.body
      const row = await insertEnvironment(db, {
        uid,
        creator_id: call.actor.principal_id,
        config: { ...config, ...(variables ? { variables: maskAll(variables) } : {}) },
        sealed: variables ? seal(seal_key, uid, variables) : null,
      })
      return { status: 201, body: viewEnvironment(row) }
    })
  })

  serve(app, services, ROUTES.getEnvironment, async ({ params }) => {
    const uid = params.environment_id
    const row = isEnvironmentId(uid) ? await findEnvironment(store.db, uid) : null
    if (!row) throw new AppError('resource_not_found', 'There is no environment with this id.')
    return viewEnvironment(row)
  })
}

const maskAll = (variables: Record<string, string>): EnvironmentConfig['variables'] =>
  Object.fromEntries(Object.keys(variables).map((name) => [name, MASK]))

const viewEnvironment = (row: ListedEnvironment): Environment => ({
  uid: row.uid,
  config: row.config,
  created_at: row.created_at.toISOString(),
  last_updated: row.last_updated.toISOString(),
  setup_failed: row.setup_failed,
  creator: row.creator,
  scope: { type: row.scope },
})
