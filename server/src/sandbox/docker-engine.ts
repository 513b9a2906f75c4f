import { SandboxFault } from './sandbox.ts'

/** An engine that takes longer to say that it is there is as good as none. */
export const ANSWER_LIMIT_MS = 20_000

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
