import type { EnvironmentConfig } from '../contract/environment.ts'
import { directoryOf, repositoriesOf } from '../contract/environment-repositories.ts'
import { imageRefusal, judgeImage, normalizeImage, registryOf } from '../contract/image.ts'
import { findExcess, type LimitMaxima } from '../contract/limits.ts'
import { findSecretsExcess } from '../contract/secret.ts'
import type { Outcome } from '../harness/harness.ts'
import { DEFAULT_LIMITS, type SandboxLimits, type SandboxSpec } from '../sandbox/sandbox.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'
import type { WorkerContext } from './context.ts'
import { planEgress, planToolHosts } from './egress.ts'
import { refuse } from './endings.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { type GitPlan, planGit } from './git-plan.ts'
import { keysOf, type ModelAccess, planModels } from './model-access.ts'
import { type PlannedServer, planToolServers } from './tool-servers.ts'
import { readUsedSecrets } from './used-secrets.ts'

/** What a run's workspace is to be, before anything of it is there. */
export interface WorkspacePlan {
  /** Which, and as of when. */
  environment: Pick<EnvironmentRow, 'uid' | 'last_updated' | 'config'> | null
  config: EnvironmentConfig
  spec: Omit<SandboxSpec, 'proxy'>
  /** Hosts that its proxy lets through; only with `allowlist`. */
  hosts: string[] | null
  /** `null` where no repository goes by the gateway. */
  git: GitPlan | null
  /** `null` where commands may call none. */
  models: ModelAccess | null
  /** What the run brings along, and where those with an address may be, as `hosts`. */
  tool_servers: PlannedServer[]
  tool_hosts: string[] | null
  /** Where the agent starts. */
  cwd: string
  /** What the environment gives to commands, in clear. */
  values: Record<string, string>
  /** Which values those are, without saying them: others have other sources. */
  sources: string[]
  /** What the sandbox is made of, where there are images. */
  image?: string
}

/** `masked` is told the values that nobody is to read in the log. `failure`: why the run cannot have what is asked for. */
export async function planWorkspace(
  context: WorkerContext,
  store: FencedStore,
  {
    run,
    environment,
    runs_inside = false,
  }: { run: RunRow; environment: EnvironmentRow | null; runs_inside?: boolean | undefined },
  masked: EventWriter['masked'],
): Promise<WorkspacePlan | { failure: Outcome }> {
  const { repositories } = run.config
  const config: EnvironmentConfig = environment?.config ?? {
    name: 'empty',
    ...(repositories ? { repositories } : {}),
  }
  const { git_credential } = context.settings
  const opened = await store.openValues({ run, environment })
  const variables = opened.environment
  const secrets = await readUsedSecrets(store, run, config)
  if ('missing' in secrets)
    return refuse(
      'resource_not_found',
      `The environment names secrets that this run cannot have: ${secrets.missing.join(', ')}.`,
    )
  const too_long = findSecretsExcess(secrets.values)
  if (too_long) return refuse('feature_not_available', `The environment's secrets are too long. ${too_long}`)
  const own = git_credential ? [git_credential] : []
  const values = { ...variables, ...secrets.variables }
  const tools = planToolServers(run, opened.run, values)
  const { models: providers } = context.settings
  // Without a way to the gateway an agent may have what its environment gives it.
  const has_way = context.backend.capabilities.egress.includes('allowlist')
  const for_agent = runs_inside && has_way && Object.keys(providers).length > 0
  const models = planModels(config, values, providers, for_agent)
  await masked.hide([
    ...[...Object.values(variables), ...secrets.values, ...tools.secrets, ...own.map(({ secret }) => secret)],
    ...(models ? [models.rules.token, ...keysOf(providers)] : []),
  ])
  if (models && Object.keys(providers).length === 0)
    return refuse(
      'feature_not_available',
      'The environment lets commands call models, and this worker has none: its operator sets the key of a provider.',
    )
  const credentials = [...secrets.credentials, ...own]
  const git = planGit(config, run.run_id, { credentials, variables: values }, context.settings)
  if (!git && config.on_success && config.on_success !== 'nothing')
    return refuse(
      'integration_not_configured',
      'The environment wants changes to be pushed (on_success), and none of its secrets is for a host of its repositories.',
    )
  const egress = planEgress(config, context, { git: git !== null, models: models !== null })
  if ('refusal' in egress) return refuse('feature_not_available', egress.refusal)
  const excess = findExcess(config.limits, context.settings.limit_maxima)
  if (excess)
    return refuse('feature_not_available', `The environment asks for more than is allowed: ${excess}.`)
  const image = imageOf(config, context)
  if (image === null) return refuse('feature_not_available', imageRefusal(config.docker_image ?? ''))
  const registry = image.image && registryOf(image.image)
  const login = secrets.logins.find(({ host }) => host === registry)
  const spec = {
    run_id: run.run_id,
    attempt: store.lease.attempt,
    ...image,
    ...(login ? { login } : {}),
    limits: limitsOf(config, context.settings.limit_maxima, runs_inside ? AGENT_MEMORY : 0),
    egress: egress.policy,
    env: { ...AGENT_ENV, ...models?.env, ...values, ...git?.env },
    folders: ['artifacts', 'attachments'],
  }
  const used = spec.image ?? context.backend.default_image
  return {
    environment,
    sources: [opened.environment_version, ...secrets.versions],
    ...{ config, spec, hosts: egress.hosts, git, models, cwd: workingDirectory(config), values },
    tool_servers: tools.servers,
    tool_hosts: planToolHosts(config, context, egress.hosts, urlsOf(tools.servers)),
    ...(used === undefined ? {} : { image: used }),
  }
}

const urlsOf = (servers: readonly PlannedServer[]): string[] =>
  servers.flatMap(({ launch }) => (launch.type === 'url' ? [launch.url] : []))

/** Git must find a name for commits; nothing here is secret. */
const AGENT_ENV: Record<string, string> = {
  RUNYARD: '1',
  RUNYARD_ARTIFACTS_DIR: '/workspace/artifacts',
  GIT_AUTHOR_NAME: 'Runyard agent',
  GIT_AUTHOR_EMAIL: 'agent@runyard.invalid',
  GIT_COMMITTER_NAME: 'Runyard agent',
  GIT_COMMITTER_EMAIL: 'agent@runyard.invalid',
  GIT_TERMINAL_PROMPT: '0',
}

/** The image the environment names, in full; `null` when it may not run here. */
function imageOf(
  { docker_image }: EnvironmentConfig,
  { backend, settings }: WorkerContext,
): Pick<SandboxSpec, 'image' | 'pull'> | null {
  if (!docker_image || backend.default_image === undefined) return {}
  const image = normalizeImage(docker_image)
  const verdict = judgeImage(docker_image, settings.images)
  return image === null || verdict === null ? null : { image, pull: verdict === 'pull' }
}

/** The agent starts in the repository when there is exactly one. */
function workingDirectory(config: EnvironmentConfig): string {
  const [only, ...more] = repositoriesOf(config)
  return only && more.length === 0 ? `/workspace/${directoryOf(only)}` : '/workspace'
}

/** Beside what commands take: agents hold their conversation, and some a browser's worth of program. */
const AGENT_MEMORY = 2 * 1024 ** 3

/** What the environment names; of what it does not, the default, or the operator's maximum where that is lower. */
export function limitsOf({ limits }: EnvironmentConfig, maxima: LimitMaxima, more_memory = 0): SandboxLimits {
  const MiB = 1024 ** 2
  return {
    memory_bytes: limits?.memory_mb
      ? limits.memory_mb * MiB
      : Math.min(DEFAULT_LIMITS.memory_bytes + more_memory, maxima.memory_mb * MiB),
    pids: limits?.pids ?? Math.min(DEFAULT_LIMITS.pids, maxima.pids),
    cpus: limits?.cpus ?? Math.min(DEFAULT_LIMITS.cpus, maxima.cpus),
    disk_bytes: limits?.disk_mb
      ? limits.disk_mb * MiB
      : Math.min(DEFAULT_LIMITS.disk_bytes, maxima.disk_mb * MiB),
  }
}
