import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import type { GrantedKind } from '../../contract/grant.ts'
import { ROUTES } from '../../contract/routes.ts'
import type { Db } from '../../store/db.ts'
import { findEnvironmentId } from '../../store/environments.ts'
import { type Granted, listGrants, replaceGrants } from '../../store/grants.ts'
import { findIdentity } from '../../store/identities.ts'
import { isKnownSecret } from '../../store/secrets.ts'
import type { Services } from '../context.ts'
import { serve } from '../route.ts'

export function serveGrants(app: FastifyInstance, services: Services): void {
  const { db } = services.store

  serve(app, services, ROUTES.getGrants, async ({ query }) => viewGrants(db, await resolve(db, query)))

  serve(app, services, ROUTES.putGrants, async ({ body, actor, request }) => {
    request.audit_detail = body.principal_ids.join(' ')
    const granted = await resolve(db, body)
    await requireGiver(db, granted, actor)
    const unknown = await replaceGrants(db, granted, body.principal_ids, actor.principal_id)
    if (unknown !== null)
      throw new AppError('invalid_request', `principal_ids: there is nobody with the id ${unknown}.`)
    return viewGrants(db, granted)
  })
}

const FIND: Record<GrantedKind, (db: Db, named: string) => Promise<string | null>> = {
  // It is there as soon as it is named: its workers may not be.
  pool: async (_, name) => name,
  environment: findEnvironmentId,
  identity: async (db, uid) => (await findIdentity(db, uid))?.uid ?? null,
  secret: async (db, name) => ((await isKnownSecret(db, name)) ? name : null),
}

/** With the id of what may be named. */
async function resolve(db: Db, { resource_type, resource_id }: Granted): Promise<Granted> {
  const id = await FIND[resource_type](db, resource_id)
  if (id === null) throw new AppError('resource_not_found', `resource_id: there is no such ${resource_type}.`)
  return { resource_type, resource_id: id }
}

async function requireGiver(db: Db, { resource_type, resource_id }: Granted, actor: Actor): Promise<void> {
  if (actor.role === 'admin') return
  if (resource_type !== 'identity') throw new AppError('not_authorized', 'Only admins give grants.')
  const identity = await findIdentity(db, resource_id)
  if (identity?.creator.uid !== actor.principal_id)
    throw new AppError('not_authorized', 'Only admins and who made an identity grant it.')
}

async function viewGrants(db: Db, granted: Granted) {
  const rows = await listGrants(db, granted)
  return {
    ...granted,
    restricted: rows.length > 0 || granted.resource_type === 'identity',
    grants: rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() })),
  }
}
