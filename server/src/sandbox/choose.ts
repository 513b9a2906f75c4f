import { openBubblewrap } from './bubblewrap.ts'
import { DEFAULT_IMAGE, openDocker } from './docker.ts'
import { openHost } from './host.ts'
import { type SandboxBackend, SandboxFault } from './sandbox.ts'

/** How long a missing default image may take to pull before the start goes on without Docker. */
const PULL_LIMIT_MS = 30_000
/** The same when Docker was asked for: then there is nothing to go on with. */
const REQUESTED_PULL_LIMIT_MS = 10 * 60_000

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
  const { requested, installation_id, logger } = options
  const image = options.default_image ?? DEFAULT_IMAGE
  const docker = {
    installation_id,
    default_image: image,
    onPull: (name: string) => logger.info(`Pulling the container image ${name}`),
  }
  if (requested === 'docker')
    return {
      backend: await openDocker({ ...docker, pull_limit_ms: REQUESTED_PULL_LIMIT_MS }),
      reason: 'requested',
    }
  if (requested === 'host') return { backend: await openHost(options), reason: 'requested' }
  if (requested === 'bubblewrap') return { backend: await openInstalled(options), reason: 'requested' }
  try {
    const backend = await openDocker({ ...docker, pull_limit_ms: PULL_LIMIT_MS })
    return { backend, reason: `a Docker engine answers and has ${image}` }
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
