/** How a run ends where its agent has no say. */
import { AppError } from '../contract/error.ts'
import type { EventData } from '../contract/event.ts'
import type { Outcome } from '../harness/harness.ts'
import { SandboxFault } from '../sandbox/sandbox.ts'
import type { SessionEnd } from '../store/debug-turns.ts'
import { toAppError } from '../store/faults.ts'
import type { WorkerContext } from './context.ts'
import { EventRefused } from './event-refused.ts'

/** How an execution ends, and what becomes of its sandbox, where that is to be said. */
export type ExecutionEnd = Outcome & { session?: SessionEnd }

export const INTERRUPTED: Outcome = {
  state: 'BLOCKED',
  status_message: {
    message: 'Interrupted. Send a follow-up to go on, or cancel the run.',
    waits_for: 'message',
  },
}

/** The same of a debug turn, whose run is over. */
export const DEBUG_INTERRUPTED: Outcome = {
  ...INTERRUPTED,
  status_message: { message: 'Interrupted. Send a follow-up to go on.', waits_for: 'message' },
}

export const NO_ARTIFACTS = {
  message: 'The sandbox failed while the artifacts were collected: they are missing, in whole or in part.',
  error_code: 'resource_unavailable',
  retryable: true,
} as const

export const notInstalled = (name: string, context: WorkerContext): Outcome => ({
  state: 'FAILED',
  status_message: {
    message: `This installation has no harness "${name}"; it has ${[...context.harnesses.keys()].join(' and ')}.`,
    error_code: 'feature_not_available',
    retryable: false,
  },
})

/** The run cannot have what it asks for: its caller can fix it. */
export const refuse = (
  error_code:
    | 'resource_not_found'
    | 'feature_not_available'
    | 'environment_setup_failed'
    | 'integration_not_configured',
  message: string,
): { failure: Outcome } => ({
  failure: { state: 'FAILED', status_message: { message, error_code, retryable: false } },
})

/** What a run's caller may read of a fault of ours. */
export function describeFault(error: unknown): EventData<'error'> {
  const { code, detail, retryable } = faultOf(error)
  return { message: detail, error_code: code, retryable }
}

function faultOf(error: unknown): AppError {
  if (error instanceof EventRefused) return new AppError('internal_error', error.message, { cause: error })
  if (error instanceof SandboxFault) {
    return new AppError('resource_unavailable', 'The sandbox failed. The log of the service has the cause.', {
      cause: error,
    })
  }
  const fault = toAppError(error)
  return fault.code === 'internal_error'
    ? new AppError('internal_error', 'A fault of the service ended the run; its log has the cause.', {
        cause: error,
      })
    : fault
}
