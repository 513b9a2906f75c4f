import { openBubblewrap } from './bubblewrap.ts'
import { DEFAULT_IMAGE, openDocker } from './docker.ts'
import { openHost } from './host.ts'
import { type SandboxBackend, SandboxFault } from './sandbox.ts'

/** How long a missing default image may take to pull before the start goes on without Docker. */
const PULL_LIMIT_MS = 30_000

export interface BackendChoice {
  backend: SandboxBackend
  /** One sentence for the start log and `/readyz`: why this one. */
  reason: string
}

/**
 * Opens the backend asked for, or else the strongest this machine has: Docker where an engine answers and the default
 * image is there or pulls quickly, otherwise bubblewrap. The host is never chosen, only requested. Throws
 * `SandboxFault` saying what to install when nothing fits or the requested one does not work.
 */
export async function chooseBackend(options: {
  requested?: 'docker' | 'bubblewrap' | 'host'
  data_dir: string
  installation_id: string
  /** Docker's image for runs that name none. */
  default_image?: string
  logger: { info(message: string): void }
}): Promise<BackendChoice> {
  const choice = await choose(options)
  options.logger.info(`Sandbox: ${choice.backend.description} (${choice.reason})`)
  return choice
}

async function choose(options: Parameters<typeof chooseBackend>[0]): Promise<BackendChoice> {
  const image = options.default_image ?? DEFAULT_IMAGE
  const docker = { installation_id: options.installation_id, default_image: image }
  if (options.requested === 'docker') return { backend: await openDocker(docker), reason: 'requested' }
  if (options.requested === 'host') return { backend: await openHost(options), reason: 'requested' }
  if (options.requested === 'bubblewrap')
    return { backend: await openInstalled(options), reason: 'requested' }
  try {
    return {
      backend: await openDocker({ ...docker, pull_limit_ms: PULL_LIMIT_MS }),
      reason: `a Docker engine answers and has ${image}`,
    }
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    const reason = `not Docker: ${error.message}`
    return { backend: await openInstalled(options, `; ${reason}`), reason }
  }
}

async function openInstalled(
  options: { data_dir: string; installation_id: string },
  besides = '',
): Promise<SandboxBackend> {
  try {
    return await openBubblewrap(options)
  } catch (error) {
    if (!(error instanceof SandboxFault)) throw error
    const message = `no sandbox works here: ${error.message}${besides}`
    throw new SandboxFault(`${message}. On Debian and Ubuntu: apt-get install -y bubblewrap (as root)`)
  }
}
