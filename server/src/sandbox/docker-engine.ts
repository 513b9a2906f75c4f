import { access } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type Docker from 'dockerode'
import { SandboxFault } from './sandbox.ts'

/** An engine that takes longer to say that it is there is as good as none. */
export const ANSWER_LIMIT_MS = 20_000
/** What takes longer will not come: an engine can wait for a container for ever. */
const CALL_LIMIT_MS = 2 * 60_000
/** Removing takes the longer the more files there are. */
const REMOVAL_LIMIT_MS = 10 * 60_000

/**
 * A client of the engine that `DOCKER_HOST` names, else of the local one; whether that answers is another question. Throws
 * where there is none to ask.
 */
export async function connectEngine(options: { timeout?: number }): Promise<Docker> {
  if (!process.env.DOCKER_HOST) await findSocket()
  // A seventh of what a start would load, most of it for making images, and many machines have no engine.
  const { default: Client } = await import('dockerode')
  const client = new Client(options)
  limitCalls(client)
  return client
}

/** Gives every call a limit on its time, except streams: their readers have limits of their own. */
function limitCalls({ modem }: Docker): void {
  const dial = modem.dial.bind(modem)
  modem.dial = (options, callback) => {
    if (options.isStream || options.hijack || options.abortSignal) return dial(options, callback)
    const late = new AbortController()
    const removes = options.method === 'DELETE' && options.path.startsWith('/volumes/')
    const timer = setTimeout(() => late.abort(), removes ? REMOVAL_LIMIT_MS : CALL_LIMIT_MS)
    dial({ ...options, abortSignal: late.signal }, (...answer) => {
      clearTimeout(timer)
      callback?.(...answer)
    })
  }
}

/** Throws when there is neither the system's nor that of Docker Desktop. */
export const findSocket = (): Promise<void> =>
  access('/var/run/docker.sock').catch((error) =>
    access(join(homedir(), '.docker/run/docker.sock')).catch(() => {
      throw error
    }),
  )

/** Whether the call took longer than one may. */
export const isCutShort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'

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
