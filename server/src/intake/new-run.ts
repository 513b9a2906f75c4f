import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../contract/actor.ts'
import { NAME_MAX_LENGTH } from '../contract/agent-config.ts'
import { kindOfReference } from '../contract/environment-name.ts'
import { AppError } from '../contract/error.ts'
import { findUnenforced, findUnhonoured, type HarnessTraits, LOOP } from '../contract/harness-fields.ts'
import type { Permissions } from '../contract/permission.ts'
import type { RunSourceType } from '../contract/run.ts'
import { type OutputSchema, type RunAgentRequest, TITLE_MAX_LENGTH } from '../contract/run-request.ts'
import { checkSchema } from '../schema/check-schema.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { seal } from '../sealing/sealing.ts'
import type { Db } from '../store/db.ts'
import { findEnvironmentRules, findEnvironmentSecrets, type NamedEnvironment } from '../store/environments.ts'
import type { NewRun } from '../store/new-runs.ts'
import type { OpenRunMaxima } from '../store/quotas.ts'
import { findConversation, type RunRow } from '../store/runs.ts'
import { findMissingSecrets } from '../store/secrets.ts'
import { type AttachmentServices, copyAttachments, storeAttachments } from './attachments.ts'
import { maskConfig } from './config-secrets.ts'
import { replayRun } from './earlier-run.ts'
import { findExecution, requireRunGrants } from './executor.ts'
import { forkRun } from './fork.ts'
import { placeRequest } from './parent.ts'
import { type MayOpen, requireRepositories } from './run-repositories.ts'
import { requireAgent, requireAvailable, requireInstalled } from './unavailable.ts'

const TITLE_LENGTH = 80

export interface RunServices extends AttachmentServices {
  seal_key: Keyring
  default_pool: string
  /** What a run may name as its harness. */
  harnesses: readonly HarnessTraits[]
  /** Default: no path is refused here; the worker looks again when it opens it. */
  mayOpen?: MayOpen | undefined
  /** Runs that may be open at once. */
  open_runs: OpenRunMaxima
}

/**
 * Resolves a request into a run: defaults filled in, what it names looked up, secret values sealed. Within a transaction its
 * `output_schema` was checked before, which takes a thread.
 */
export async function resolveRun(
  services: RunServices,
  asked: RunAgentRequest,
  actor: Actor,
  source: RunSourceType,
  { schema_checked = false } = {},
): Promise<NewRun> {
  requireAvailable(asked)
  const earlier = await replayRun(services, asked, actor)
  const fork = await forkRun(services, asked, actor)
  const wanted = fork?.request ?? earlier?.request ?? asked
  // What the agent of a run creates is where that run is, which was allowed already.
  const by_agent = source === 'ORCHESTRATION'
  const placed = await placeRequest(services, wanted, actor, by_agent)
  const { parent, rules_above } = placed
  const { request, principal_id, is_identity } = await findExecution(services.db, placed.request, actor)
  requireAvailable(request)
  requireRepositories(request.config, services.mayOpen)
  const harness = requireHarness(services, request, rules_above)
  if (!schema_checked) await requireSchema(request.output_schema, actor)
  const run_id = uuidv7()
  const { prompt = '', config: given = {}, attachments = [], metadata: _, ...rest } = request
  const { replay_of_run_id, fork_of: __, ...recorded } = rest
  const skill_spec = skillOf(request)
  const { scope, environment } = await lookUp(services.db, request, parent, actor)
  if (is_identity && scope === 'User') {
    const detail =
      'agent_identity_uid: runs of an identity are runs of the team, and the conversation is personal.'
    throw new AppError('invalid_request', detail)
  }
  const { config, secrets } = maskConfig({
    ...given,
    environment_id: environment?.uid,
    name: given.name ?? (skill_spec === null ? undefined : cut(skillName(skill_spec), NAME_MAX_LENGTH)),
    skill_spec: skill_spec ?? undefined,
    idle_timeout_minutes: given.idle_timeout_minutes ?? 10,
    worker_host: given.worker_host || services.default_pool,
  })
  const pool = config.worker_host ?? services.default_pool
  // Of a run with a parent they are that one's, and asked about with it.
  if (!parent)
    await requireRunGrants(services.db, actor, {
      ...{ principal_id, pool, scope },
      environment_id: config.environment_id ?? null,
    })
  await requireAgent(services.db, harness, { pool, environment_id: config.environment_id })
  if (environment) {
    await requireObeyed(services.db, environment.uid, harness)
    await requireSecrets(services.db, environment, { principal_id, scope })
  }
  return {
    run_id,
    pool,
    principal_id,
    creator_id: actor.principal_id,
    scope,
    priority: request.priority ?? 0,
    title:
      request.title?.trim() || titleOf(prompt) || cut(skill_spec ?? '', TITLE_MAX_LENGTH) || 'Untitled run',
    prompt,
    name: config.name ?? null,
    model_id: config.harness?.model_id ?? config.model_id ?? null,
    environment_id: config.environment_id ?? null,
    skill_spec,
    source: parent ? 'ORCHESTRATION' : source,
    config,
    sealed: Object.keys(secrets).length ? seal(services.seal_key, run_id, secrets) : null,
    rules_above,
    request: recorded,
    metadata: inherit(parent, request),
    conversation_id: request.conversation_id ?? run_id,
    ...placeBelow(parent, run_id),
    replay_of_run_id: replay_of_run_id ?? null,
    fork: fork?.from ?? null,
    attachments: earlier?.files.length
      ? await copyAttachments(services, run_id, earlier.files)
      : await storeAttachments(services, run_id, attachments),
  }
}

const skillOf = ({ skill, config }: RunAgentRequest): string | null =>
  skill ?? config?.skill_spec ?? config?.skills?.[0] ?? null

/** Throws where it is no JSON Schema that can be used. Takes a thread: to be asked outside of transactions. */
export async function requireSchema(
  schema: OutputSchema | null | undefined,
  { principal_id }: Pick<Actor, 'principal_id'>,
): Promise<void> {
  const wrong = schema && (await checkSchema(schema, principal_id))
  if (wrong)
    throw new AppError('invalid_request', `output_schema: is no JSON Schema that can be used: ${wrong}`)
}

/** Where the run names no harness the worker chooses, and takes the built-in loop wherever there is a model. */
function requireHarness(
  { harnesses }: RunServices,
  request: RunAgentRequest,
  rules_above: readonly Permissions[],
): HarnessTraits {
  const { config } = request
  const type = config?.harness?.type
  const harness = type === undefined ? LOOP : requireInstalled(harnesses, type, 'config.harness.type')
  const permissions = [...rules_above.flat(), ...(config?.permissions ?? [])]
  const unhonoured = findUnhonoured(harness, { ...request, config: { ...config, permissions } })
  if (unhonoured.length > 0) throw new AppError('invalid_request', unhonoured.join(' '))
  return harness
}

/** Throws where nobody would obey the rules of the environment. It may get others before a worker looks at them again. */
async function requireObeyed(db: Db, environment_id: string, harness: HarnessTraits): Promise<void> {
  // The loop obeys them all: the usual create needs no other query.
  if (harness === LOOP) return
  const rules = await findEnvironmentRules(db, environment_id)
  const unenforced = rules ? findUnenforced(harness, rules) : []
  if (unenforced.length > 0)
    throw new AppError('invalid_request', `config.environment_id: ${unenforced.join(' ')}`)
}

/** Checks what the request names; returns who may see the run. */
async function lookUp(
  db: Db,
  request: RunAgentRequest,
  parent: RunRow | null,
  actor: Actor,
): Promise<{ scope: NewRun['scope']; environment: NamedEnvironment | null }> {
  const { config, conversation_id } = request
  const environment = await lookUpEnvironment(db, config?.environment_id)
  const conversation = conversation_id ? await findConversation(db, conversation_id, actor) : null
  if (conversation_id && !conversation) {
    throw new AppError('resource_not_found', 'conversation_id: there is no conversation with this id.')
  }
  if (request.team) {
    if (conversation?.personal) {
      const detail =
        'team: the conversation holds a personal run of yours, so this run is personal too; leave team out.'
      throw new AppError('invalid_request', detail)
    }
    if (parent?.scope === 'User') {
      const detail = 'team: the parent run is personal, so this run is personal too; leave team out.'
      throw new AppError('invalid_request', detail)
    }
  }
  const personal = request.team === false || conversation?.personal || parent?.scope === 'User'
  if (personal && parent?.scope === 'Team' && environment) {
    const detail = `${request.team === false ? 'team' : 'conversation_id'}: a personal run has secrets of its owner, which the parent run has not.`
    throw new AppError('invalid_request', detail)
  }
  return { scope: personal ? 'User' : 'Team', environment }
}

async function lookUpEnvironment(db: Db, reference: string | undefined): Promise<NamedEnvironment | null> {
  if (reference === undefined) return null
  const found = await findEnvironmentSecrets(db, reference)
  if (found) return found
  const detail = `config.environment_id: there is no environment with this ${kindOfReference(reference)}.`
  throw new AppError('invalid_request', detail)
}

/** As the worker will ask: what is not there now would end the run. */
async function requireSecrets(
  db: Db,
  { secrets }: NamedEnvironment,
  { principal_id, scope }: Pick<NewRun, 'principal_id' | 'scope'>,
): Promise<void> {
  if (secrets.length === 0) return
  const missing = await findMissingSecrets(db, secrets, { principal_id, personal: scope === 'User' })
  if (missing.length > 0)
    throw new AppError(
      'invalid_request',
      `config.environment_id: the environment names secrets that this run cannot have: ${missing.join(', ')}.`,
    )
}

const placeBelow = (parent: RunRow | null, run_id: string) => ({
  parent_run_id: parent?.run_id ?? null,
  root_run_id: parent?.root_run_id ?? run_id,
  ancestor_run_ids: parent ? [...parent.ancestor_run_ids, parent.run_id] : [],
})

function inherit(parent: RunRow | null, request: RunAgentRequest): Record<string, string> {
  const metadata = { ...parent?.metadata, ...request.metadata }
  if (Object.keys(metadata).length > 20) {
    throw new AppError('invalid_request', 'metadata: at most 20 keys, those of the parent run included.')
  }
  return metadata
}

/** The first line with text (the fence of a code block is none), cut on a word. */
export function titleOf(prompt: string): string {
  const line = prompt.split('\n').find((text) => text.trim() && !/^\s*(```|~~~)/.test(text)) ?? ''
  const clean = line
    .trim()
    .replace(/^#+\s+/, '')
    .replace(/\s+/g, ' ')
  if (clean.length <= TITLE_LENGTH) return clean
  const cut = clean.slice(0, TITLE_LENGTH)
  const space = cut.lastIndexOf(' ')
  return `${(space > TITLE_LENGTH / 2 ? cut.slice(0, space) : cut.slice(0, TITLE_LENGTH - 1)).trimEnd()}…`.toWellFormed()
}

/** `owner/repo:path/to/name/SKILL.md` and `repo:name` are both called `name`. */
function skillName(spec: string): string {
  const path = spec.slice(spec.indexOf(':') + 1).replace(/\/?SKILL\.md$/i, '')
  return path.split('/').filter(Boolean).at(-1) ?? spec
}

/** A skill may be longer than what is made of it: a title and a name are indexed whole, and a page of an index is small. */
const cut = (text: string, length: number): string =>
  text.length > length ? text.slice(0, length).replace(/[\ud800-\udbff]$/, '') : text
