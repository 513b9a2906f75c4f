import type { FastifyInstance } from 'fastify'
import { isWithin } from '../../contract/actor.ts'
import type { ApiKey, CreateApiKeyRequest } from '../../contract/api-key.ts'
import { AppError } from '../../contract/error.ts'
import { pageInfo } from '../../contract/page-info.ts'
import type { RouteDefinition } from '../../contract/route.ts'
import { ROUTES } from '../../contract/routes.ts'
import {
  addKey,
  createPrincipalWithKey,
  findKey,
  type KeyListing,
  listKeyPage,
  type NewKey,
  revokeUnlessLast,
  rotateKey,
} from '../../store/api-keys.ts'
import type { Db } from '../../store/db.ts'
import { findIdentity } from '../../store/identities.ts'
import type { Services } from '../context.ts'
import { type Call, type SENT, serve } from '../route.ts'
import { requireCurrentKey, sendSecret } from '../sealed-answer.ts'

const GRACE_MINUTES = 5
const LAST_KEY =
  'This is the last admin key that works. Make another one first, or revoke it on the machine of the service: runyard keys revoke.'

export function serveApiKeys(app: FastifyInstance, services: Services): void {
  const { store } = services

  serve(app, services, ROUTES.createApiKey, async (call) => {
    const options = readOptions(call.body)
    call.request.audit_detail = options.pool === undefined ? options.role : `pool ${options.pool}`
    return sendKey(services, call, async (db) => {
      await requireCurrentKey(db, call.actor)
      const { agent_identity_uid, principal_id = agent_identity_uid, new_user } = call.body
      if (new_user) return createPrincipalWithKey(db, options)
      const known = agent_identity_uid === undefined || (await findIdentity(db, agent_identity_uid))
      const key = known && (await addKey(db, principal_id ?? call.actor.principal_id, options))
      if (key) return key
      const field = agent_identity_uid === undefined ? 'principal_id' : 'agent_identity_uid'
      throw new AppError('invalid_request', `${field}: there is nobody with this id.`)
    })
  })

  serve(app, services, ROUTES.listApiKeys, async ({ query, actor }) => {
    const { principal_id } = actor
    if (actor.role !== 'admin' && (query.principal_id ?? principal_id) !== principal_id)
      throw new AppError('not_authorized', 'principal_id: only admins see the keys of others.')
    const seen = actor.role === 'admin' ? query : { ...query, principal_id }
    const { keys, next_cursor } = await listKeyPage(store.db, seen)
    return { api_keys: keys.map(viewKey), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.rotateApiKey, async (call) => {
    const { grace_minutes = GRACE_MINUTES } = call.body ?? {}
    const { key_id } = await requireKey(services, call)
    const rotate = async (db: Db): Promise<NewKey> => {
      if (key_id !== call.actor.key_id) await requireCurrentKey(db, call.actor)
      // Once: a key makes no more than what takes its place, whoever has it.
      const key = await rotateKey(db, key_id, { grace_ms: grace_minutes * 60_000, once: true })
      if (key) {
        call.request.audit_detail = `replaced by ${key.key_id}`
        return key
      }
      throw (await findKey(db, key_id))?.active ? replaced() : notActive()
    }
    return sendKey(services, call, rotate, key_id)
  })

  serve(app, services, ROUTES.revokeApiKey, async (call) => {
    const { key_id } = await requireKey(services, call)
    if (key_id !== call.actor.key_id) await requireCurrentKey(store.db, call.actor)
    const result = await revokeUnlessLast(store.db, key_id)
    if (result === 'last') throw new AppError('conflict', LAST_KEY, { retryable: false })
    if (result === 'gone') throw notActive()
    const key = await findKey(store.db, key_id)
    if (!key) throw noSuchKey()
    return viewKey(key)
  })
}

const noSuchKey = (): AppError => new AppError('resource_not_found', 'There is no key with this id.')
const notActive = (): AppError =>
  new AppError('conflict', 'The key does not work any more: it was revoked, or its time is over.', {
    retryable: false,
  })

const replaced = (): AppError =>
  new AppError(
    'conflict',
    'The key was replaced already: use the one that was made. Who has lost it asks an admin for another.',
    { retryable: false },
  )

function readOptions({ name, role, pool, expires_at }: CreateApiKeyRequest) {
  if (expires_at !== undefined && Date.parse(expires_at) <= Date.now())
    throw new AppError('invalid_request', 'expires_at: must be in the future.')
  return {
    ...{ name, role: role ?? (pool === undefined ? ('member' as const) : ('viewer' as const)) },
    ...(pool === undefined ? {} : { pool }),
    ...(expires_at === undefined ? {} : { expires_at: new Date(expires_at) }),
  }
}

/** A key that the caller may rotate and revoke. Others' look like none. */
async function requireKey(
  { store }: Services,
  { params, actor }: Pick<Call<typeof ROUTES.rotateApiKey>, 'params' | 'actor'>,
): Promise<KeyListing> {
  const key = await findKey(store.db, params.key_id)
  if (!key || (actor.role !== 'admin' && key.principal_id !== actor.principal_id)) throw noSuchKey()
  if (isWithin(key.role, actor.role)) return key
  throw new AppError(
    'not_authorized',
    `A key with the role ${actor.role} may not change one of ${key.role}s.`,
  )
}

/** Sends a new key, whose text is shown this once. */
const sendKey = (
  services: Services,
  call: Pick<Call<RouteDefinition>, 'actor' | 'idempotency' | 'reply'>,
  make: (db: Db) => Promise<NewKey>,
  replaced_key_id?: string,
): Promise<typeof SENT> => {
  const place = ({ key_id }: Record<string, unknown>): string => `api key ${key_id}`
  const replaces_caller = replaced_key_id === call.actor.key_id
  return sendSecret(services, call, { place, what: 'The key', replaces_caller }, async (db) => {
    const { key_id, api_key } = await make(db)
    const key = await findKey(db, key_id)
    if (!key) throw new Error('The key just made is gone.')
    return { shown: viewKey(key), secret: { api_key } }
  })
}

const viewKey = (key: KeyListing): ApiKey => ({
  key_id: key.key_id,
  name: key.name,
  role: key.role,
  ...(key.pool === null ? {} : { pool: key.pool }),
  masked: key.masked,
  principal: { uid: key.principal_id, type: key.principal_type, display_name: key.principal_name },
  active: key.active,
  created_at: key.created_at.toISOString(),
  ...(key.expires_at ? { expires_at: key.expires_at.toISOString() } : {}),
  ...(key.grace_until ? { grace_until: key.grace_until.toISOString() } : {}),
  ...(key.replaces === null ? {} : { replaces: key.replaces }),
  ...(key.last_used_at ? { last_used_at: key.last_used_at.toISOString() } : {}),
  ...(key.revoked_at ? { revoked_at: key.revoked_at.toISOString() } : {}),
})
