import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import {
  type Environment,
  type EnvironmentConfig,
  EnvironmentRequest,
  readConfig,
  viewConfig,
} from '../../contract/environment.ts'
import { kindOfReference } from '../../contract/environment-name.ts'
import { AppError } from '../../contract/error.ts'
import { imageRefusal, judgeImage, normalizeImage } from '../../contract/image.ts'
import { findExcess } from '../../contract/limits.ts'
import { pageInfo } from '../../contract/page-info.ts'
import { ROUTES } from '../../contract/routes.ts'
import { findSecretsExcess } from '../../contract/secret.ts'
import { MASK, seal, unseal } from '../../sealing/sealing.ts'
import { openSecret } from '../../sealing/secret-value.ts'
import type { Db } from '../../store/db.ts'
import {
  deleteEnvironment,
  type EnvironmentContent,
  findEnvironmentSecrets,
  insertEnvironment,
  type ListedEnvironment,
  listEnvironments,
  readEnvironment,
  replaceEnvironment,
} from '../../store/environments.ts'
import { removeGrants, requireGrants } from '../../store/grants.ts'
import { randomText } from '../../store/random-text.ts'
import { findUnknownSecrets, readSecrets } from '../../store/secrets.ts'
import { readImagePolicies } from '../../store/workers.ts'
import type { HttpContext, Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'

type Variables = Record<string, string>

export function serveEnvironments(app: FastifyInstance, services: Services): void {
  const { store, settings } = services
  const seal_key = settings.keyring

  /** What is stored of a configuration, in place of one whose variables `readKept` opens. */
  const sealContent = (
    uid: string,
    { variables: given, ...config }: EnvironmentConfig,
    readKept: () => Variables = () => ({}),
  ): EnvironmentContent => {
    if (!given) return { config, sealed: null }
    const variables = keepValues(given, readKept)
    return {
      config: { ...config, variables: maskAll(variables) },
      sealed: seal(seal_key, uid, variables),
    }
  }

  /** A run is asked again: a value may be replaced, and other principals may have other ones. */
  const requireShort = async (db: Db, named: readonly string[], { principal_id }: Actor): Promise<void> => {
    if (named.length === 0) return
    const rows = await readSecrets(db, named, { principal_id, personal: true })
    const excess = findSecretsExcess(rows.map((row) => openSecret(seal_key, row)))
    if (excess) throw new AppError('invalid_request', `secrets: ${excess}`)
  }

  serve(app, services, ROUTES.listEnvironments, async ({ query, actor }) => {
    const { environments, next_cursor } = await listEnvironments(store.db, query, actor)
    return { environments: environments.map(viewEnvironment), page_info: pageInfo(next_cursor) }
  })

  serve(app, services, ROUTES.createEnvironment, async (call) => {
    const config = readConfig(call.body)
    await requireAllowed(config, services)
    return sendOnce(store.db, call, async (db) => {
      await requireNameable(db, config.secrets ?? [], [], call.actor)
      await requireShort(db, config.secrets ?? [], call.actor)
      const uid = randomText(22)
      const content = sealContent(uid, config)
      const row = await insertEnvironment(db, { uid, creator_id: call.actor.principal_id, ...content })
      return { status: 201, body: viewEnvironment(row) }
    })
  })

  serve(app, services, ROUTES.getEnvironment, async ({ params: { environment_id }, actor }) =>
    viewFound(environment_id, await readEnvironment(store.db, environment_id, actor)),
  )

  serve(app, services, ROUTES.updateEnvironment, async ({ params: { environment_id }, body, actor }) => {
    const config = readConfig(body)
    await requireAllowed(config, services)
    await requireChangeable(store.db, environment_id, actor, config)
    await requireShort(store.db, config.secrets ?? [], actor)
    const row = await replaceEnvironment(store.db, environment_id, actor, ({ uid, sealed }) =>
      sealContent(uid, config, () => (sealed ? unseal(seal_key, uid, sealed) : {})),
    )
    return viewFound(environment_id, row)
  })

  serve(app, services, ROUTES.deleteEnvironment, async ({ params: { environment_id }, actor }) => {
    await requireChangeable(store.db, environment_id, actor)
    const row = await deleteEnvironment(store.db, environment_id, actor)
    if (row) await removeGrants(store.db, { resource_type: 'environment', resource_id: row.uid })
    return viewFound(environment_id, row)
  })
}

/** Who may not run in an environment, or not have its secrets, may not change what others run there with them either. */
async function requireChangeable(
  db: Db,
  reference: string,
  actor: Actor,
  { secrets: named = [] }: Partial<EnvironmentConfig> = {},
): Promise<void> {
  const before = await findEnvironmentSecrets(db, reference)
  if (!before) return
  await requireGrants(db, actor, 'environment', [before.uid])
  await requireNameable(db, named, before.secrets, actor)
}

/** Nobody's runs would have a secret that is somebody else's own. Of what is named already it may be gone, or be a colleague's. */
async function requireNameable(
  db: Db,
  named: readonly string[],
  before: readonly string[],
  actor: Actor,
): Promise<void> {
  await requireGrants(db, actor, 'secret', [...before, ...named])
  const fresh = named.filter((name) => !before.includes(name))
  const [unknown] = fresh.length > 0 ? await findUnknownSecrets(db, fresh, actor.principal_id) : []
  if (unknown !== undefined)
    throw new AppError(
      'invalid_request',
      `secrets: neither the team nor you have a secret ${unknown}. Set it first: PUT /agent/secrets/${unknown}.`,
    )
}

/** What the operator allows, which a run is asked again. */
async function requireAllowed(
  { docker_image, limits, repositories = [], providers = {} }: EnvironmentConfig,
  { store, settings }: Services,
): Promise<void> {
  if (Object.keys(providers).length > 0)
    throw new AppError(
      'feature_not_available',
      'providers: this version takes no role in a cloud. Put credentials into a secret and name it in secrets.',
    )
  const { mayOpen = () => true } = settings
  const elsewhere = repositories.findIndex(
    ({ local_path }) => local_path !== undefined && !mayOpen(local_path),
  )
  if (elsewhere >= 0)
    throw new AppError(
      'invalid_request',
      `repositories.${elsewhere}.local_path: lies outside of RUNYARD_LOCAL_REPOS, the folder whose repositories this installation opens, or in its data directory.`,
    )
  const refusal = docker_image && (await judgeEverywhere(docker_image, store.db, settings))
  if (refusal) throw new AppError('feature_not_available', refusal)
  const excess = findExcess(limits, settings.limit_maxima)
  if (excess) throw new AppError('invalid_request', excess)
}

/** Why no worker would use the image; `null`: one may, or nobody knows. */
async function judgeEverywhere(
  name: string,
  db: Db,
  { images, hasImage }: HttpContext['settings'],
): Promise<string | null> {
  const policies = images ? [images] : await readImagePolicies(db)
  // Of workers whose sandboxes are made of no images, an image is nobody's matter.
  const verdicts = policies.flatMap((policy) => (policy ? [judgeImage(name, policy)] : []))
  if (verdicts.length === 0 || verdicts.length < policies.length || verdicts.includes('pull')) return null
  if (!verdicts.includes('local')) return imageRefusal(name)
  const full = normalizeImage(name)
  if (!hasImage || !full || (await hasImage(full))) return null
  return `The image ${name} is not on this machine’s Docker engine, and it may not be pulled; RUNYARD_IMAGES says which may.`
}

/** The variables with the values they keep: what was read can be changed and written, though it was read without them. */
function keepValues(given: Variables, readKept: () => Variables): Variables {
  if (!Object.values(given).includes(MASK)) return given
  const kept = readKept()
  const variables = Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (value !== MASK) return [name, value]
      const before = Object.hasOwn(kept, name) ? kept[name] : undefined
      if (before === undefined)
        throw new AppError(
          'invalid_request',
          `variables.${name}: "${MASK}" keeps the value it has, and it has none yet.`,
        )
      return [name, before]
    }),
  )
  // The limits are of the values, and those that are kept have only been counted as they were written.
  const checked = EnvironmentRequest.shape.variables.safeParse(variables)
  if (!checked.success)
    throw new AppError('invalid_request', `variables: ${checked.error.issues[0]?.message}`)
  return variables
}

const maskAll = (variables: Variables): Variables =>
  Object.fromEntries(Object.keys(variables).map((name) => [name, MASK]))

function viewFound(reference: string, row: ListedEnvironment | null): Environment {
  if (!row)
    throw new AppError(
      'resource_not_found',
      `There is no environment with this ${kindOfReference(reference)}.`,
    )
  return viewEnvironment(row)
}

const viewEnvironment = (row: ListedEnvironment): Environment => ({
  uid: row.uid,
  config: viewConfig(row.config),
  created_at: row.created_at.toISOString(),
  last_updated: row.last_updated.toISOString(),
  setup_failed: row.setup_failed,
  ...(row.last_run
    ? { last_task_created: row.last_run, last_task_run_timestamp: row.last_run.created_at }
    : {}),
  creator: row.creator,
  ...(row.last_editor ? { last_editor: row.last_editor } : {}),
  scope: { type: row.scope },
})
