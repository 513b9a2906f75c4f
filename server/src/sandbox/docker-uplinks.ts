import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type Docker from 'dockerode'
import { engineFault } from './docker-engine.ts'
import { connectProxy, findProxyPrograms, type ProxyPrograms } from './proxy-uplink.ts'
import { type SandboxEgress, SandboxFault } from './sandbox.ts'
import type { Uplink } from './sandbox-network.ts'

/**
 * Ways from containers without a network to their proxies. Only root can make them, beside an engine of the same machine:
 * it enters the container's network namespace.
 */
export class DockerUplinks {
  readonly #programs: ProxyPrograms
  /** By the container's id; a container that is started anew has another namespace. */
  readonly #open = new Map<string, Uplink>()

  private constructor(programs: ProxyPrograms) {
    this.#programs = programs
  }

  /** `null` where it is not possible: the policy `allowlist` is not offered then. */
  static find(): DockerUplinks | null {
    const programs = process.getuid?.() === 0 && isEngineHere() ? findProxyPrograms(true) : null
    return programs && new DockerUplinks(programs)
  }

  /** Throws `SandboxFault`. */
  async connect(container: Docker.Container, proxy: SandboxEgress): Promise<void> {
    const { id, pid } = await find(container)
    this.close(id)
    const uplink = await connectProxy(this.#programs, pid, proxy)
    this.#open.set(id, uplink)
    // Of a container that ended meanwhile the number may be another's.
    if ((await find(container)).pid === pid) return
    this.close(id)
    throw new SandboxFault('The container ended before it had a way to the proxy')
  }

  /** It may have ended by itself. */
  isOpen({ id }: Docker.Container): boolean {
    return this.#open.get(id)?.is_open ?? false
  }

  close(id: string): void {
    this.#open.get(id)?.close()
    this.#open.delete(id)
  }
}

/** The container's id, and its process 1 as this machine numbers it. */
async function find(container: Docker.Container): Promise<{ id: string; pid: number }> {
  const { Id, State } = await container.inspect().catch((error) => {
    throw engineFault('the Docker engine could not look for the container', error)
  })
  const groups = await readFile(`/proc/${State.Pid}/cgroup`, 'utf8').catch(() => '')
  if (!groups.includes(Id)) throw new SandboxFault('The container does not run on this machine')
  return { id: Id, pid: State.Pid }
}

/** Whether the engine's processes are numbered as ours are: not where it or the service is in a container or a machine of its own. */
export function isEngineHere(): boolean {
  if (!/^(unix:|$)/.test(process.env.DOCKER_HOST ?? '')) return false
  try {
    const pid = Number(readFileSync('/var/run/docker.pid', 'utf8'))
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'dockerd'
  } catch {
    return false
  }
}
