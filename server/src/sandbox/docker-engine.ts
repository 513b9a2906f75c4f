import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type Docker from 'dockerode'
import { SandboxFault } from './sandbox.ts'

/** An engine that takes longer to say that it is there is as good as none. */
export const ANSWER_LIMIT_MS = 20_000
/** How often, and how far apart, it is asked whether a container is gone that another call removes. */
const REMOVAL_LOOKS = 100
const REMOVAL_PAUSE_MS = 100

/**
 * A client of the engine that `DOCKER_HOST` names, else of the local one; whether that answers is another question. Throws
 * where there is none to ask.
 */
export async function connectEngine(options: { timeout?: number }): Promise<Docker> {
  if (!process.env.DOCKER_HOST) await findSocket()
  // A seventh of what a start would load, most of it for making images, and many machines have no engine.
  const { default: Client } = await import('dockerode')
  return new Client(options)
}

/** Throws when there is neither the system's nor that of Docker Desktop. */
export const findSocket = (): Promise<void> =>
  access('/var/run/docker.sock').catch((error) =>
    access(join(homedir(), '.docker/run/docker.sock')).catch(() => {
      throw error
    }),
  )

/** The status the engine answered with; 0 when it did not answer. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/**
 * A failed call as callers may see it. The engine's own words stay behind as the cause, for the service's log: they
 * repeat what a registry, an image or another machine has said.
 */
export function engineFault(what: string, cause: unknown): SandboxFault {
  if (cause instanceof SandboxFault) return cause
  return new SandboxFault(statusOf(cause) === 0 ? 'the Docker engine does not answer' : what, { cause })
}

/** Waits for a call whose failure with one of `statuses` means that there was nothing to do. */
export async function ignoreStatus(statuses: number[], call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!statuses.includes(statusOf(error)))
      throw engineFault('the Docker engine refused to work on the container', error)
  }
}

/** How it stands; `null`: it is gone. Throws `SandboxFault` where the engine does not say. */
export async function readState(
  container: Docker.Container,
): Promise<Docker.ContainerInspectInfo['State'] | null> {
  try {
    return (await container.inspect()).State
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw engineFault('the Docker engine does not say how the container stands', error)
  }
}

/** Kills all that runs in it, frozen or not. Throws `SandboxFault` unless the engine then says that nothing does. */
export async function stopContainer(container: Docker.Container): Promise<void> {
  await ignoreStatus([404, 409], container.kill())
  if ((await readState(container))?.Running)
    throw new SandboxFault('the Docker engine could not stop the container')
}

/** Kills and removes it. Throws `SandboxFault` unless it is gone then, whoever removed it. */
export async function removeContainer(container: Docker.Container): Promise<void> {
  try {
    await container.remove({ force: true, v: true })
  } catch (error) {
    const status = statusOf(error)
    if (status === 404) return
    if (status !== 409) throw engineFault('the Docker engine could not remove the container', error)
    // Somebody else is at it.
    for (let looks = 0; looks < REMOVAL_LOOKS; looks += 1) {
      if ((await readState(container)) === null) return
      await wait(REMOVAL_PAUSE_MS)
    }
    throw engineFault('the Docker engine could not remove the container', error)
  }
}
