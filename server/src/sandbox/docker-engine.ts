import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { SandboxFault } from './sandbox.ts'

/** An engine that takes longer to say that it is there is as good as none. */
export const ANSWER_LIMIT_MS = 20_000

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
