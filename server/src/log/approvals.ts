import type { EventData, NewEvent } from '../contract/event.ts'

export interface Approval {
  request: EventData<'approval.requested'>
  /** What it is about. */
  call: EventData<'tool.call'> | undefined
  answer: EventData<'approval.answered'> | null
  /** Attempts that began after the answer: the first of them carries the call out. */
  attempts: number
  /** The user said something else in place of an answer. */
  is_superseded: boolean
  /** Of the call. */
  result: EventData<'tool.result'> | null
}

/** Everything that was asked, in order. */
export function readApprovals(log: readonly NewEvent[]): Approval[] {
  const approvals = new Map<string, Approval>()
  const calls = new Map<string, EventData<'tool.call'>>()
  for (const event of log) {
    if (event.type === 'tool.call') calls.set(event.data.tool_call_id, event.data)
    else if (event.type === 'approval.requested') {
      const request = event.data
      const told = calls.get(request.tool_call_id)
      const call = told && { ...told, ...(request.input ? { input: request.input } : {}) }
      const opened = { answer: null, attempts: 0, is_superseded: false, result: null }
      approvals.set(request.approval_id, { request, call, ...opened })
    } else if (event.type === 'approval.answered') {
      const approval = approvals.get(event.data.approval_id)
      if (approval) approval.answer = event.data
    } else for (const approval of approvals.values()) note(approval, event)
  }
  return [...approvals.values()]
}

function note(approval: Approval, event: NewEvent): void {
  if (event.type === 'message.user') approval.is_superseded ||= approval.answer === null
  else if (event.type === 'attempt.started' && approval.answer) approval.attempts += 1
  else if (event.type === 'tool.result' && event.data.tool_call_id === approval.request.tool_call_id)
    approval.result ??= event.data
}

/** The ends of turns that ask about a call: they leave it open, and those behind it. */
export function findQuestions(log: readonly NewEvent[]): ReadonlySet<NewEvent> {
  const questions = new Set<NewEvent>()
  let asks = false
  for (const event of log) {
    if (event.type === 'approval.requested') asks = true
    else if (event.type === 'tool.result') asks = false
    else if (asks && endsAsking(event)) questions.add(event)
  }
  return questions
}

const endsAsking = ({ type, data }: NewEvent): boolean =>
  type === 'run.state'
    ? data.state === 'BLOCKED'
    : type === 'debug.ended' && data.status_message?.waits_for === 'approval'

/** What is asked about an open call, or was answered about it. */
export const findApproval = (log: readonly NewEvent[], { tool_call_id }: EventData<'tool.call'>) =>
  readApprovals(log).findLast(({ request, result }) => !result && request.tool_call_id === tool_call_id)
