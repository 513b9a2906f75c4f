import { SandboxFault } from './sandbox.ts'

/** The status the engine answered with; 0 when it did not answer. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 0
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Waits for a call whose failure with one of `statuses` means that there was nothing to do. */
export async function ignoreStatus(statuses: number[], call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!statuses.includes(statusOf(error))) throw new SandboxFault(messageOf(error))
  }
}
