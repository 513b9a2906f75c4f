import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { asksForProvider } from '../../contract/agent-config.ts'
import { kindOfReference } from '../../contract/environment-name.ts'
import { AppError } from '../../contract/error.ts'
import { findUnhonoured, type HarnessTraits, LOOP } from '../../contract/harness-fields.ts'
import type { AgentIdentity, AgentIdentityRequest, IdentityConfig } from '../../contract/identity.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { requireInstalled } from '../../intake/unavailable.ts'
import { warnOfRuns } from '../../intake/waiting.ts'
import type { Db } from '../../store/db.ts'
import { findEnvironmentId } from '../../store/environments.ts'
import { findMissingGrants, notGranted } from '../../store/grants.ts'
import {
  deleteIdentity,
  findIdentity,
  type IdentityRow,
  insertIdentity,
  listIdentities,
  MAX_IDENTITIES,
  replaceIdentity,
} from '../../store/identities.ts'
import type { Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'

const LAST_KEY =
  'The identity has the last admin key that works. Make an admin key for somebody else first: runyard keys create --role admin.'

export function serveIdentities(app: FastifyInstance, services: Services): void {
  const { store, settings } = services

  const viewWhole = async (db: Db, row: IdentityRow, actor: Actor): Promise<AgentIdentity> => {
    const asker = { actor, default_pool: settings.default_pool }
    // Its runs may name another pool, so the service's own one is nothing to say here.
    const warned = row.config.worker_host ? await warnOfRuns(db, row.config, asker) : {}
    return { ...viewIdentity(row), ...warned }
  }

  serve(app, services, ROUTES.createAgentIdentity, async (call) => {
    requireOffered(call.body, settings.harnesses)
    return sendOnce(store.db, call, async (db) => {
      const config = await changeConfig(db, {}, call.body)
      requireHonoured(config, settings.harnesses)
      await requireUsable(db, config, call.actor, null)
      const creator_id = call.actor.principal_id
      const row = await insertIdentity(db, { name: call.body.name, config, creator_id })
      if (!row)
        throw new AppError('conflict', `There are ${MAX_IDENTITIES} identities, which is the most.`, {
          retryable: false,
        })
      return { status: 201, body: await viewWhole(db, row, call.actor) }
    })
  })

  serve(app, services, ROUTES.listAgentIdentities, async ({ query }) => {
    // None belongs to a factory here.
    if (query.factory_uid) return { agents: [], page_info: pageInfo(null) }
    const { identities, next_cursor } = await listIdentities(store.db, query)
    return { agents: identities.map(viewIdentity), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.getAgentIdentity, async ({ params, actor }) =>
    viewWhole(store.db, await requireIdentity(store.db, params.uid), actor),
  )

  serve(app, services, ROUTES.updateAgentIdentity, async ({ params: { uid }, body, actor }) => {
    const before = await requireIdentity(store.db, uid)
    requireOwn(before, actor)
    requireOffered(body, settings.harnesses)
    // Looked up before, since what changes a row may wait for nothing else.
    const named = await changeConfig(store.db, {}, body)
    await requireUsable(store.db, named, actor, uid)
    const row = await replaceIdentity(store.db, uid, (kept) => {
      const config = mergeConfig(kept.config, body, named.environment_id)
      requireHonoured(config, settings.harnesses)
      return { name: body.name ?? kept.name, config }
    })
    return viewWhole(store.db, row ?? (await requireIdentity(store.db, uid)), actor)
  })

  serve(app, services, ROUTES.deleteAgentIdentity, async ({ params: { uid }, actor }) => {
    requireOwn(await requireIdentity(store.db, uid), actor)
    const row = await deleteIdentity(store.db, uid)
    if (row === 'last') throw new AppError('conflict', LAST_KEY, { retryable: false })
    if (!row) throw noSuchIdentity()
    return { ...viewIdentity(row), available: false }
  })
}

const noSuchIdentity = (): AppError =>
  new AppError('resource_not_found', 'There is no identity with this id.')

async function requireIdentity(db: Db, uid: string): Promise<IdentityRow> {
  const row = await findIdentity(db, uid)
  if (!row) throw noSuchIdentity()
  return row
}

function requireOwn({ creator }: IdentityRow, { role, principal_id }: Actor): void {
  if (role !== 'admin' && creator.uid !== principal_id)
    throw new AppError('not_authorized', 'Only admins and who made an identity may change it.')
}

/**
 * Throws `not_authorized` when the pool or the environment that an identity gets as a default, or a secret of that, is for others only: neither for
 * who writes it nor for the identity. Admins may use it everywhere, and would run there what somebody else says.
 */
async function requireUsable(
  db: Db,
  { worker_host: pool = '', environment_id: named }: IdentityConfig,
  { role, principal_id }: Actor,
  uid: string | null,
): Promise<void> {
  if (role === 'admin') return
  const environment_id = named || null
  const place = { pool, environment_id, scope: 'Team' } as const
  const missing = await findMissingGrants(db, { ...place, principal_id })
  if (missing.length === 0) return
  const lacking = uid === null ? missing : await findMissingGrants(db, { ...place, principal_id: uid })
  if (lacking.length > 0) throw notGranted(lacking)
}

/** Throws, naming the fields, when an identity is to have what this version does not do for its runs. */
function requireOffered(asked: AgentIdentityRequest, harnesses: readonly HarnessTraits[]): void {
  const { memory, agent_type, credential_strategy } = asked
  const missing = [
    ...(agent_type && agent_type !== 'CUSTOM' ? [`agent_type: ${agent_type}`] : []),
    ...(credential_strategy === 'CREATOR' ? ['credential_strategy: CREATOR'] : []),
    ...(asked.on_behalf_of_enabled ? ['on_behalf_of_enabled'] : []),
    ...(asked.default_runner_uid ? ['default_runner_uid'] : []),
    ...(asked.factory_uid ? ['factory_uid'] : []),
    ...(asked.secrets?.length ? ['secrets of an identity; name them in its environment'] : []),
    ...(isFilled(asked.mcp_servers)
      ? ['mcp_servers of an identity; name them in config.mcp_servers of runs']
      : []),
    ...(asksForProvider(asked.inference_providers ?? {}) ? ['inference_providers'] : []),
    ...(isFilled(asked.harness_auth_secrets) ? ['harness_auth_secrets'] : []),
    ...(memory?.attached_stores?.length || memory?.auto_memory?.enabled ? ['memory'] : []),
  ]
  if (missing.length > 0)
    throw new AppError('feature_not_available', `This version does not offer ${missing.join(', ')}.`)
  const type = asked.harness?.type ?? asked.base_harness
  if (type) requireInstalled(harnesses, type, asked.harness?.type ? 'harness.type' : 'base_harness')
  if (asked.harness?.type && asked.base_harness && asked.harness.type !== asked.base_harness)
    throw new AppError('invalid_request', 'base_harness: is another one than harness.type; leave it out.')
}

/** Throws where the harness of an identity cannot honour its other defaults: its runs would all be refused. */
function requireHonoured(
  { harness, base_harness, prompt, base_model, skills }: IdentityConfig,
  harnesses: readonly HarnessTraits[],
): void {
  const type = harness?.type ?? base_harness
  const traits = harnesses.find(({ name }) => name === type) ?? LOOP
  const config = {
    ...(harness ? { harness } : {}),
    ...{ base_prompt: prompt, model_id: base_model, skills },
  }
  const unhonoured = findUnhonoured(traits, { config }).map((text) =>
    text
      .replace(/^config\.base_prompt/, 'prompt')
      .replace(/^config\.model_id/, 'base_model')
      .replace(/^config\./, ''),
  )
  if (unhonoured.length > 0) throw new AppError('invalid_request', unhonoured.join(' '))
}

const isFilled = (value: object | null | undefined): boolean => Object.keys(value ?? {}).length > 0

async function changeConfig(
  db: Db,
  config: IdentityConfig,
  asked: AgentIdentityRequest,
): Promise<IdentityConfig> {
  const { environment_id: reference } = asked
  if (!reference) return mergeConfig(config, asked, undefined)
  const environment_id = await findEnvironmentId(db, reference)
  if (environment_id === null)
    throw new AppError(
      'invalid_request',
      `environment_id: there is no environment with this ${kindOfReference(reference)}.`,
    )
  return mergeConfig(config, asked, environment_id)
}

/** What is absent or null stays, what is empty goes. */
function mergeConfig(
  before: IdentityConfig,
  asked: AgentIdentityRequest,
  environment_id: string | undefined,
): IdentityConfig {
  const changes = {
    description: asked.description,
    prompt: asked.prompt,
    environment_id: asked.environment_id ? environment_id : asked.environment_id,
    base_model: asked.base_model,
    base_harness: asked.base_harness,
    harness: asked.harness,
    skills: asked.skills,
    worker_host: asked.worker_host,
  }
  const given = Object.entries(changes).filter(([, value]) => value !== undefined && value !== null)
  const merged = Object.entries({ ...before, ...Object.fromEntries(given) })
  return Object.fromEntries(
    merged.filter(([, value]) => value !== '' && (typeof value !== 'object' || isFilled(value))),
  )
}

const viewIdentity = ({
  uid,
  name,
  config,
  prompt_truncated,
  creator,
  created_at,
  updated_at,
}: IdentityRow & { prompt_truncated?: boolean }): AgentIdentity => ({
  uid,
  name,
  available: true,
  ...config,
  ...(prompt_truncated ? { prompt_truncated } : {}),
  skills: config.skills ?? [],
  agent_type: 'CUSTOM',
  credential_strategy: 'EXECUTOR',
  on_behalf_of_enabled: false,
  default_runner_uid: '',
  secrets: [],
  memory: { attached_stores: [], auto_memory: { enabled: false } },
  creator,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})
