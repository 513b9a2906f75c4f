import { z } from 'zod'
import { PendingApproval } from './approval.ts'
import { ErrorCode } from './error.ts'
import { Timestamp } from './timestamp.ts'

export const RunState = z
  .enum([
    'QUEUED',
    'PENDING',
    'CLAIMED',
    'INPROGRESS',
    'SUCCEEDED',
    'FAILED',
    'ERROR',
    'BLOCKED',
    'CANCELLED',
  ])
  .meta({
    id: 'RunState',
    description:
      'QUEUED: waiting for a worker. CLAIMED: a worker prepares the sandbox. INPROGRESS: the agent works. BLOCKED: waits for a person. ' +
      'SUCCEEDED, FAILED (the caller can fix it), ERROR (ours), CANCELLED: ended. PENDING is accepted in filters and never entered.',
  })
export type RunState = z.infer<typeof RunState>

export const TERMINAL_STATES = [
  'SUCCEEDED',
  'FAILED',
  'ERROR',
  'CANCELLED',
] as const satisfies readonly RunState[]
/** A worker is at it. */
export const WORKING_STATES = ['CLAIMED', 'INPROGRESS'] as const satisfies readonly RunState[]
/** Not over, and nobody is waited for. */
export const UNFINISHED_STATES = ['QUEUED', ...WORKING_STATES] as const satisfies readonly RunState[]
/** Over until a follow-up goes on with it. */
export const RESTING_STATES = [...TERMINAL_STATES, 'BLOCKED'] as const satisfies readonly RunState[]
export const CANCELLABLE_STATES = [
  'QUEUED',
  'PENDING',
  ...WORKING_STATES,
  'BLOCKED',
] as const satisfies readonly RunState[]
export const isWorking = (state: RunState): boolean => (WORKING_STATES as readonly RunState[]).includes(state)
export const isResting = (state: RunState): boolean => (RESTING_STATES as readonly RunState[]).includes(state)
export const isTerminal = (state: RunState): boolean =>
  (TERMINAL_STATES as readonly RunState[]).includes(state)

export const WaitsFor = z.enum(['answer', 'approval', 'budget', 'message']).meta({
  id: 'WaitsFor',
  description:
    'Of a BLOCKED run. `answer`: the agent has asked something. `approval`: a call is to be allowed or denied. `budget`: its budget is spent. `message`: it was interrupted, and nothing was asked; it goes on with the next message.',
})
export type WaitsFor = z.infer<typeof WaitsFor>

export const RunStatusMessage = z
  .object({
    message: z.string(),
    error_code: ErrorCode.optional(),
    retryable: z.boolean().optional(),
    waits_for: WaitsFor.optional(),
    approval: PendingApproval.optional().meta({
      description: 'Of a BLOCKED run: the call that somebody is to allow or to deny.',
    }),
    session_debug_until: Timestamp.optional().meta({
      description:
        "Of a run whose setup failed, in the run itself: until then a follow-up is a debug turn in the failed setup's sandbox. Each turn moves it; while one is under way it may be past.",
    }),
    debug_agent_active: z.literal(true).optional().meta({
      description: 'In the run itself: a debug turn is under way.',
    }),
  })
  .meta({ id: 'RunStatusMessage', description: 'Why the run is in its state, for a person to act on.' })
export type RunStatusMessage = z.infer<typeof RunStatusMessage>
