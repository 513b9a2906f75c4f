import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { getCACertificates, rootCertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { readDiskSpace } from './blobs/disk-space.ts'
import type { Config } from './config.ts'
import { listEndpoints } from './config-providers.ts'
import { AppError } from './contract/error.ts'
import { LOOP, RUNBOOK } from './contract/harness-fields.ts'
import type { Persist } from './database-wait.ts'
import type { Gateway, GitCredential, ModelUsage } from './gateway/gateway.ts'
import { openGateway } from './gateway/open-gateway.ts'
import { gitTokenOf } from './git-token.ts'
import { listAgents, traitsOf } from './harness/acp-agents.ts'
import { loadLater } from './harness/load-later.ts'
import { priceOf, readFigures } from './harness/model-prices.ts'
import { openModels } from './harness/models.ts'
import { runbook } from './harness/runbook.ts'
import { TOOLS } from './harness/tools/toolset.ts'
import { findAgentsFolder, makeAgentsFolder } from './installed-agents.ts'
import { findLacking } from './lacking-agents.ts'
import { offerAuthorities } from './sandbox/authorities.ts'
import { chooseBackend, createFormerBackends } from './sandbox/choose.ts'
import { DEFAULT_IMAGE } from './sandbox/default-image.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'
import type { WardenArguments } from './warden-process.ts'
import { startBeats } from './worker/beat.ts'
import type { ControlPlane } from './worker/control-plane.ts'
import { createDiskGuard } from './worker/disk-guard.ts'
import { findProviders } from './worker/model-access.ts'
import { spawnWarden } from './worker/warden.ts'
import { startWorker, type WorkerHandle, type WorkerOptions } from './worker/worker.ts'

/** Between two tries to begin a new life: the database may be away. */
const RESTART_MS = 1_000
/** After a start, when nobody waits for it any more. */
const LOAD_MS = 1_000
/** A new life that is on its way when the process is to stop gets so long to begin, so that it can be ended in order. */
const START_MS = 2_000
const WARDEN = fileURLToPath(new URL('./warden-process.ts', import.meta.url))
const GATEWAY = fileURLToPath(new URL('./gateway-process.ts', import.meta.url))

/** What this process trusts, where NODE_EXTRA_CA_CERTS brought anything: a sandbox that reaches the same network meets the same authorities. */
function listAuthorities(): string[] {
  const own = getCACertificates('extra')
  return own.length > 0 ? [...new Set([...rootCertificates, ...getCACertificates('system'), ...own])] : []
}

/** What RUNYARD_GIT_TOKEN gives to every environment, where it can be used. */
function findGitCredential(
  config: Config,
  { embedded, backend, log }: Pick<WorkOptions, 'embedded' | 'log'> & { backend: SandboxBackend },
): { git_credential?: GitCredential } {
  if (!config.git_token) return {}
  const git_credential = gitTokenOf(config, backend)
  if (!embedded)
    log.warn('RUNYARD_GIT_TOKEN is for `dev` and is not used here: keep a secret for each environment.')
  else if (!git_credential)
    log.warn(`RUNYARD_GIT_TOKEN is not used: the ${backend.name} sandbox has no way to the git gateway here.`)
  else return { git_credential }
  return {}
}

async function requireTools(directory: string | undefined): Promise<void> {
  if (directory === undefined) return
  const found = await stat(directory).catch(() => null)
  if (!found?.isDirectory())
    throw new AppError('invalid_request', `RUNYARD_TOOLS_DIR: there is no folder ${directory}.`)
}

/** What stands beside a worker, and is otherwise a process of its own each: tests have them in theirs. */
export interface Companions {
  /** The caller closes it. */
  gateway?: Gateway
  startWarden?: (backend: SandboxBackend) => Awaited<ReturnType<WorkerOptions['openWarden']>>
}

export interface WorkOptions {
  config: Config
  plane: ControlPlane
  readInstallation: () => Promise<string>
  log: Logger
  /** In the process of `dev`. */
  embedded: boolean
  /** How a step of the start is taken that needs the control plane. */
  persist: Persist
  /** Called before a life begins in place of one that was lost. */
  recover?: () => Promise<void>
  companions?: Companions
}

/** Works, one life after the other, until stopped: a worker that was declared lost comes back under a new id. */
export async function work({
  config,
  plane,
  readInstallation,
  log,
  embedded,
  persist,
  recover = async () => {},
  companions = {},
}: WorkOptions) {
  const installation_id = await persist(readInstallation)
  const { data_dir } = config
  await requireTools(config.tools_dir)
  const tools_dir = makeAgentsFolder(config)
  if (config.tools_dir === undefined)
    offerAuthorities(tools_dir, config.has_own_authorities ? listAuthorities() : [])
  const { backend, reason } = await chooseBackend({
    data_dir,
    installation_id,
    ...(config.sandbox ? { requested: config.sandbox } : {}),
    ...(config.default_image ? { default_image: config.default_image } : {}),
    tools_dir,
    findTools: () => findAgentsFolder(config),
    ...{ allow_fallback: config.allow_sandbox_fallback, is_shared: !embedded },
    ...(config.docker_runtime ? { docker_runtime: config.docker_runtime } : {}),
    kubernetes: config.kubernetes,
    logger: log,
  })
  log.info({ sandbox: backend.name, reason, ...backend.capabilities }, backend.description)
  if (!embedded && backend.capabilities.limits === 'weak' && !config.allow_weak_limits) {
    throw new AppError(
      'operation_not_supported',
      `Limits are weak here: ${backend.weaknesses.map(({ says }) => says).join('; ')}. Set RUNYARD_ALLOW_WEAK_LIMITS=1 to work all the same.`,
    )
  }
  const models = openModels(config.models)
  const providers = findProviders({ ...config.models, endpoints: listEndpoints(config.models) })
  const { retry_for_ms } = config.models
  const retries = retry_for_ms === undefined ? {} : { retry_for_ms }
  // A fifth of what a start would load, and runs of neither kind may ever come.
  const loop = loadLater({ traits: LOOP }, async () => {
    const { createLoop } = await import('./harness/loop.ts')
    return createLoop(models, retries)
  })
  const agents = listAgents(config.acp_agents).map((agent) =>
    loadLater({ traits: traitsOf(agent), runs_inside: true }, async () => {
      const { createAcp } = await import('./harness/acp.ts')
      return createAcp(agent, models, { ...retries, silence_ms: config.agent_silence_ms })
    }),
  )
  const wardenArguments: WardenArguments = {
    backend: backend.name,
    data_dir,
    installation_id,
    deadline: !embedded,
    ...(backend.name === 'kubernetes' ? { kubernetes: config.kubernetes } : {}),
  }
  const warden_argv = [WARDEN, JSON.stringify(wardenArguments)]
  const openWarden: WorkerOptions['openWarden'] = async (worker_id, onLost) => {
    if (companions.startWarden) return companions.startWarden(backend)
    if (plane.heart) {
      const onFault = (fault: string) => log.warn({ worker_id, fault }, 'A heartbeat failed; trying again.')
      return startBeats({ heart: plane.heart, worker_id, warden_argv, onLost, onFault })
    }
    const warden = spawnWarden(warden_argv)
    warden.died.catch((error: Error) => onLost(error.message))
    await Promise.race([warden.ready, warden.died])
    return warden
  }
  const { storage } = backend
  const disk = createDiskGuard({
    readSpace: async () => ({
      data: await readDiskSpace(data_dir),
      sandboxes: storage ? await readDiskSpace(storage) : null,
    }),
    min_free_percent: config.min_free_percent,
    log,
  })
  const gateway = companions.gateway ?? openGateway(GATEWAY, log)
  const context = {
    disk,
    gateway,
    plane,
    backend,
    openFormerBackends: createFormerBackends(backend, { data_dir, installation_id }),
    harnesses: new Map([loop, ...agents, runbook].map((harness) => [harness.traits.name, harness])),
    default_harness: models.configured ? LOOP.name : RUNBOOK.name,
    tools: TOOLS,
    log,
    settings: {
      version: config.version,
      pool: config.pool,
      place: backend.place,
      data_dir,
      slots: config.slots,
      grace_ms: config.grace_ms,
      max_idle: config.max_idle,
      warm: config.warm,
      egress: config.egress ?? 'allowlist',
      private_hosts: config.private_hosts,
      git_hosts: config.git_hosts,
      models: providers,
      ...(config.models.silence_ms === undefined ? {} : { model_silence_ms: config.models.silence_ms }),
      costOf: ({ provider, model, ...used }: ModelUsage) => {
        const base_url = providers[provider]?.base_url
        if (base_url === undefined || model === null) return undefined
        return priceOf(readFigures({ provider, base_url, id: model }, config.models.prices), used)
      },
      ...findGitCredential(config, { embedded, backend, log }),
      images: {
        patterns: [...(config.images ?? []), config.default_image ?? DEFAULT_IMAGE],
        // Whoever starts `dev` has put them there; beside a worker they may be somebody else's.
        local: embedded && config.images === undefined,
      },
      limit_maxima: config.limit_maxima,
      max_run_files_bytes: config.max_run_files_bytes,
      snapshots: config.snapshots,
      prepared: config.prepared,
      ...(config.local_repos ? { local_repos: config.local_repos } : {}),
    },
  }
  const findLackingAgents = () => findLacking(config, { backend, tools_dir })
  const readModels = async () => {
    const chosen = models.configured ? await models.resolve() : null
    return {
      models: await models.list(),
      ...(chosen && 'model_id' in chosen ? { default_model_id: chosen.model_id } : {}),
    }
  }

  const stopping = new AbortController()
  const startAgain = async (): Promise<WorkerHandle> => {
    for (;;) {
      try {
        await recover()
        return await startWorker(context, { readModels, findLackingAgents, openWarden })
      } catch (error) {
        log.error({ err: error }, 'The worker could not start again; trying once more.')
        // Throws when the process is to stop: there is nothing to start then.
        await wait(RESTART_MS, undefined, { signal: stopping.signal })
      }
    }
  }
  const first = await persist(() => startWorker(context, { readModels, findLackingAgents, openWarden }))
  let life = Promise.resolve(first)
  const live = async (): Promise<void> => {
    for (let worker = first; ; worker = await life) {
      await worker.lost
      if (stopping.signal.aborted) return
      life = startAgain()
    }
  }
  live().catch(() => {})
  // Where it will be needed, the first run need not wait for it. What keeps it from being loaded is said by that run.
  if (models.configured) setTimeout(() => import('./harness/loop.ts').catch(() => {}), LOAD_MS).unref()
  return {
    backend,
    has_models: models.configured,
    /** Call this first when the process is told to stop: what dies from now on was interrupted. */
    drain() {
      life.then(
        (worker) => worker.drain(),
        () => {},
      )
    },
    async stop() {
      stopping.abort()
      const starting = wait(START_MS, null, { ref: false })
      const worker = await Promise.race([life.catch(() => null), starting])
      await worker?.stop()
      if (!companions.gateway) await gateway.close()
    },
  }
}
