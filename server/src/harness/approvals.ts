import { v7 as uuidv7 } from 'uuid'
import type { EventData } from '../contract/event.ts'
import type { PermissionRule } from '../contract/permission.ts'
import { DENIED_BY_RULE, DENIED_BY_USER } from '../log/denial.ts'
import { isInterrupted, MARK } from '../log/interruption.ts'
import type { Outcome } from './harness.ts'

export const WAITS = `${MARK}the call waits for somebody to allow it`
export const SUPERSEDED = 'Not carried out: the user was asked to allow this call, and wrote something else.'
export const NEVER_BEGUN = 'Not carried out, since a call before it was not.'

/** Whether a call that was allowed is still to be made: it waited, or its worker was lost. One that somebody stopped is not. */
export const isNotMade = (result: EventData<'tool.result'>): boolean =>
  isInterrupted(result) && (result.output === WAITS || result.output?.startsWith(LOST) === true)

const LOST = `${MARK}the worker was lost`

export const requestApproval = (
  { tool_call_id, name, title }: Pick<EventData<'tool.call'>, 'tool_call_id' | 'name' | 'title'>,
  rule: PermissionRule,
  /** Of the call, where its event does not say it. */
  input?: Record<string, unknown>,
): EventData<'approval.requested'> => ({
  approval_id: uuidv7(),
  tool_call_id,
  tool: name,
  ...(title === undefined ? {} : { title }),
  ...(input === undefined ? {} : { input }),
  rule,
})

/** How a turn ends whose next call somebody has to allow. */
export function waitForApproval({
  rule: _rule,
  input: _input,
  ...approval
}: EventData<'approval.requested'>): Outcome {
  const { tool, title } = approval
  const message = `The agent asks whether it may use ${tool}${title === undefined ? '.' : `: ${title}`}`
  return { state: 'BLOCKED', status_message: { message, retryable: false, waits_for: 'approval', approval } }
}

/** What an agent is told of a call that was denied. */
export const describeDenial = ({ reason }: Pick<EventData<'approval.answered'>, 'reason'>): string =>
  `${DENIED_BY_USER}${reason?.trim() ? ` They said: ${reason.trim()}` : ''}`

export const describeRefusal = ({ tool, pattern }: PermissionRule): string =>
  `${DENIED_BY_RULE} (${pattern === undefined ? tool : `${tool}: ${pattern}`}). Do without it, or ask the user; do not look for a way around.`
