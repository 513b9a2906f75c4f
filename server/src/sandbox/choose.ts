import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_IMAGE } from './default-image.ts'
import { ALLOW_FALLBACK, type FallbackOptions, keepLastBackend, whyNoFallback } from './fallback.ts'
import type { KubernetesPlace } from './kubernetes.ts'
import { openBubblewrap, openDocker, openHost, openKubernetes } from './open-backend.ts'
import { type SandboxBackend, SandboxFault } from './sandbox.ts'

/** How long a missing default image may take to pull before the start goes on without Docker. */
const PULL_LIMIT_MS = 30_000
/** The same when Docker was asked for, or nothing else may take its place: then there is nothing to go on with. */
const REQUESTED_PULL_LIMIT_MS = 10 * 60_000
/** Name, the value that locks ordinary users out, and the one that does not. */
const NAMESPACE_SETTINGS = [
  ['apparmor_restrict_unprivileged_userns', '1', '0'],
  ['unprivileged_userns_clone', '0', '1'],
] as const

export interface BackendChoice {
  backend: SandboxBackend
  /** One sentence for the start log and `/readyz`: why this one. */
  reason: string
}

/**
 * Opens the backend asked for, or else the strongest this machine has: Docker where an engine answers and the default
 * image is there or pulls quickly, otherwise bubblewrap, unless that would change how runs are isolated (`whyNoFallback`). The
 * host and a cluster are never chosen, only requested; a runtime of Docker requests Docker. Throws
 * `SandboxFault` saying what to install when nothing fits or the requested one does not work.
 */
export async function chooseBackend(options: ChoiceOptions): Promise<BackendChoice> {
  const choice = await choose(options)
  keepLastBackend(options.data_dir, choice.backend.name)
  return choice
}

interface ChoiceOptions extends FallbackOptions {
  requested?: 'docker' | 'bubblewrap' | 'kubernetes' | 'host'
  installation_id: string
  /** Docker's way to run containers, such as `runsc`. Whoever names one gets nothing weaker than that. */
  docker_runtime?: string
  /** Which cluster, and what its Pods are made of. */
  kubernetes?: KubernetesPlace
  /** A folder of programs for agents, offered to all sandboxes. */
  tools_dir?: string
  /** The same, for those that take it or leave it whenever they make one. */
  findTools?: () => string | undefined
  logger: { info(message: string): void }
}

async function choose(options: ChoiceOptions): Promise<BackendChoice> {
  const { installation_id, logger, docker_runtime: runtime } = options
  const requested = options.requested ?? (runtime === undefined ? undefined : 'docker')
  const image = options.default_image ?? DEFAULT_IMAGE
  const docker = {
    installation_id,
    default_image: image,
    ...(runtime === undefined ? {} : { runtime }),
    ...(options.findTools ? { findTools: options.findTools } : {}),
    onPull: (name: string) => logger.info(`Pulling the container image ${name}`),
  }
  if (requested === 'docker')
    return {
      backend: await openDocker({ ...docker, pull_limit_ms: REQUESTED_PULL_LIMIT_MS }),
      reason: 'requested',
    }
  if (requested === 'kubernetes')
    return {
      backend: await openKubernetes({ installation_id, default_image: image, ...options.kubernetes }),
      reason: 'requested',
    }
  if (requested === 'host') return { backend: await openHost(options), reason: 'requested' }
  if (requested === 'bubblewrap') return { backend: await openInstalled(options), reason: 'requested' }
  const changes = await whyNoFallback(options)
  const pull_limit_ms = changes === null ? PULL_LIMIT_MS : REQUESTED_PULL_LIMIT_MS
  try {
    const backend = await openDocker({ ...docker, pull_limit_ms })
    return { backend, reason: `a Docker engine answers and has ${image}` }
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    if (changes !== null)
      throw new SandboxFault(
        `Docker does not work: ${error.message}. Bubblewrap does not take its place, since ${changes}. ${ALLOW_FALLBACK}`,
        { cause: error },
      )
    const reason = `not Docker: ${error.message}`
    return { backend: await openInstalled(options, `; ${reason}`), reason }
  }
}

/** Between two tries to reach what could not be reached: an engine may take long to be silent. */
const FORMER_MS = 5 * 60_000

/**
 * The other backends that may have been used here before, as far as they can be reached at each call: what they left is
 * removed when its time comes, though nothing new is made with them. One that is reached is kept; an engine that was down, or
 * a folder that came later, is found by a later call.
 */
export function createFormerBackends(
  chosen: SandboxBackend,
  options: { data_dir: string; installation_id: string },
  now: () => number = () => performance.now(),
): () => Promise<SandboxBackend[]> {
  const others = [
    { name: 'docker', open: () => openDocker(options) },
    { name: 'bubblewrap', open: () => openBubblewrap({ ...options, trial: false }) },
    { name: 'host', open: () => openHost(options) },
  ].filter(({ name }) => name !== chosen.name)
  const reached = new Map<string, SandboxBackend>()
  let tried_at = Number.NEGATIVE_INFINITY
  return async () => {
    if (now() - tried_at < FORMER_MS) return [...reached.values()]
    tried_at = now()
    const opening = others.map(async ({ name, open }) => {
      const used = name === 'docker' || existsSync(join(options.data_dir, 'sandboxes', name))
      if (used && !reached.has(name)) reached.set(name, await open())
    })
    await Promise.allSettled(opening)
    return [...reached.values()]
  }
}

/**
 * The line that makes bubblewrap work here, as far as that can be known. `settings` is the folder of the kernel's: Ubuntu's
 * and some others keep ordinary users from making namespaces.
 */
export function bubblewrapSetup(is_root: boolean, settings = '/proc/sys/kernel'): string {
  const line = ['apt-get install -y bubblewrap socat']
  for (const [name, locked, open] of NAMESPACE_SETTINGS)
    if (!is_root && readSetting(join(settings, name)) === locked)
      line.push(`sysctl -w kernel.${name}=${open}`)
  return `On Debian and Ubuntu, as root: ${line.join(' && ')}`
}

function readSetting(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return null // Not every kernel has it.
  }
}

async function openInstalled(
  options: { data_dir: string; installation_id: string; tools_dir?: string },
  besides = '',
): Promise<SandboxBackend> {
  try {
    return await openBubblewrap(options)
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    const setup = bubblewrapSetup(process.getuid?.() === 0)
    throw new SandboxFault(`no sandbox works here: ${error.message}${besides}. ${setup}`, { cause: error })
  }
}
