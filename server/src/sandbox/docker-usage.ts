import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import type Docker from 'dockerode'
import { measureDisk, measureInside } from './disk-usage.ts'
import { hasAllUsers } from './docker-users.ts'
import { type DiskUsage, type ExecHandle, type ExecOptions, SandboxFault } from './sandbox.ts'

export interface EngineFacts {
  place: string
  storage?: string
  /** Whether it certainly has all users of the kernel, not some 65,000. */
  is_wide: boolean
}

/**
 * The engine's own id, which survives its machine's renaming, and its directory, where the engine is on this machine. Throws
 * `SandboxFault` when it does not have the runtime.
 */
export async function describeEngine(docker: Docker, runtime?: string): Promise<EngineFacts> {
  const { ID, DockerRootDir: storage, Runtimes: runtimes, SecurityOptions } = await docker.info()
  const known = Object.keys(runtimes ?? {})
  if (runtime !== undefined && !known.includes(runtime))
    throw new SandboxFault(
      `the Docker engine has no runtime ${runtime} (RUNYARD_DOCKER_RUNTIME), only ${known.join(', ')}`,
    )
  return {
    place: `docker:${ID}`,
    is_wide: hasAllUsers(SecurityOptions ?? []),
    ...(typeof storage === 'string' && existsSync(storage) ? { storage } : {}),
  }
}

export interface DockerMeasuring {
  docker: Docker
  container: Docker.Container
  /** Names of the volumes, and where the sandbox has them. */
  volumes: ReadonlyMap<string, string>
  exec: (options: ExecOptions) => ExecHandle
  signal?: AbortSignal
}

/**
 * What the volumes hold. A worker that may read them on its own machine (root beside its engine) measures there. For any
 * other the sandbox's own `du` is asked: an image made for it can lie, and then only the engine's disk is the limit.
 */
export async function measureVolumes(measuring: DockerMeasuring): Promise<DiskUsage> {
  const { docker, container, volumes, signal } = measuring
  const found = await Promise.all([...volumes.keys()].map((name) => docker.getVolume(name).inspect()))
  const directories = found.map((volume) => volume.Mountpoint)
  // Their names are in the paths and come once in the world: a path that is there is not another engine's.
  const readable = directories.map((path) => access(path, constants.R_OK | constants.X_OK))
  if ((await Promise.allSettled(readable)).some(({ status }) => status === 'rejected'))
    return measureInside([...volumes.values()], measuring.exec, signal)
  return measureDisk({ directories, pids: await listProcesses(container), ...(signal ? { signal } : {}) })
}

/** Their ids on the engine's machine. */
async function listProcesses(container: Docker.Container): Promise<number[]> {
  const { Processes: rows }: { Processes: string[][] } = await container.top({ ps_args: '-eo pid' })
  return rows.map(([pid]) => Number(pid)).filter(Number.isInteger)
}
