import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { type Secret, SecretName } from '../../contract/secret.ts'
import { sealSecret } from '../../sealing/secret-value.ts'
import {
  deleteSecret,
  findSecret,
  type ListedSecret,
  listSecrets,
  putSecret,
  secretKeyOf,
} from '../../store/secrets.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveSecrets(app: FastifyInstance, services: Services): void {
  const { store, settings } = services

  serve(app, services, ROUTES.listSecrets, async ({ query, actor }) => {
    const { secrets, next_cursor } = await listSecrets(store.db, query, actor)
    return { secrets: secrets.map(viewSecret), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.putSecret, async ({ params, query, body, actor }) => {
    const key = secretKeyOf(actor, params.name, query.scope)
    const { value, git = null, registry = null, description = null } = body
    const row = await putSecret(
      store.db,
      { ...key, creator_id: actor.principal_id, git, registry, description },
      (version) => sealSecret(settings.keyring, { ...key, version }, value),
    )
    return viewSecret(row)
  })

  for (const [route, find] of [
    [ROUTES.getSecret, findSecret],
    [ROUTES.deleteSecret, deleteSecret],
  ] as const) {
    serve(app, services, route, async ({ params: { name }, query, actor }) => {
      const key = secretKeyOf(actor, name, query.scope)
      return required(SecretName.safeParse(name).success ? await find(store.db, key) : null)
    })
  }
}

function required(row: ListedSecret | null): Secret {
  if (row) return viewSecret(row)
  throw new AppError('resource_not_found', 'There is no secret of this name and scope.')
}

const viewSecret = (row: ListedSecret): Secret => ({
  name: row.name,
  ...(row.description === null ? {} : { description: row.description }),
  ...(row.git === null ? {} : { git: row.git }),
  ...(row.registry === null ? {} : { registry: row.registry }),
  scope: { type: row.scope, ...(row.owner_id === null ? {} : { uid: row.owner_id }) },
  version: row.version,
  created_at: row.created_at.toISOString(),
  last_updated: row.last_updated.toISOString(),
  creator: row.creator,
})
