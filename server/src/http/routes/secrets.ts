import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { type Secret, SecretName } from '../../contract/secret.ts'
import { sealSecret } from '../../sealing/secret-value.ts'
import { requireGrants } from '../../store/grants.ts'
import {
  deleteSecret,
  findSecret,
  type ListedSecret,
  listSecrets,
  putSecret,
  type SecretKey,
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
    await requireUse(key, actor)
    const { value, git = null, registry = null, description = null } = body
    const row = await putSecret(
      store.db,
      { ...key, creator_id: actor.principal_id, git, registry, description },
      (version) => sealSecret(settings.keyring, { ...key, version }, value),
    )
    return viewSecret(row)
  })

  serve(app, services, ROUTES.getSecret, async ({ params: { name }, query, actor }) => {
    const key = secretKeyOf(actor, name, query.scope)
    return required(isName(name) ? await findSecret(store.db, key) : null)
  })

  serve(app, services, ROUTES.deleteSecret, async ({ params: { name }, query, actor }) => {
    const key = secretKeyOf(actor, name, query.scope)
    if (!isName(name)) return required(null)
    await requireUse(key, actor)
    return required(await deleteSecret(store.db, key))
  })

  /** Who may not use a secret of the team does not change what others use either. */
  async function requireUse({ scope, name }: SecretKey, actor: Actor): Promise<void> {
    if (scope === 'Team') await requireGrants(store.db, actor, 'secret', [name])
  }
}

const isName = (name: string): boolean => SecretName.safeParse(name).success

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
  restricted: row.restricted,
  created_at: row.created_at.toISOString(),
  last_updated: row.last_updated.toISOString(),
  creator: row.creator,
})
