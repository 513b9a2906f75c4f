import type { EventData, NewEvent } from '../contract/event.ts'
import { isTerminal } from '../contract/state.ts'

type ToolResult = EventData<'tool.result'>

export const MARK = 'interrupted: '
/** What a tool call is told to have ended with when its worker went away: nobody knows how far it came. */
export const WORKER_LOST = `${MARK}the worker was lost; check what happened before repeating it`
/** The same for a call that was killed because the turn had to stop. */
export const TURN_STOPPED = `${MARK}the turn was stopped and the command was killed`

/** What an open call is told when its run stops without the harness that made it. */
export const RUN_STOPPED = `${MARK}the run stopped before the call ended; check what happened before repeating it`

export const closeInterrupted = (tool_call_id: string, output: string): ToolResult => ({
  tool_call_id,
  is_error: true,
  output,
  exit_code: null,
})

/** Results, in order, for the calls that have none. */
export function closeOpenCalls(events: readonly NewEvent[], output: string): NewEvent[] {
  const open = new Set<string>()
  for (const { type, data } of events) {
    if (type === 'tool.call') open.add(data.tool_call_id)
    else if (type === 'tool.result') open.delete(data.tool_call_id)
  }
  return [...open].map((id) => ({ type: 'tool.result', data: closeInterrupted(id, output) }))
}

/** Of the run, or of a debug turn that does not wait for an approval. */
function endsExecution({ type, data }: NewEvent): boolean {
  if (type === 'debug.ended') return data.status_message?.waits_for !== 'approval'
  return type === 'run.state' && isTerminal(data.state)
}

/** Results for the calls that were open when an earlier execution ended, and whose attempt could not write how they ended. */
export function closeEndedCalls(events: readonly NewEvent[]): NewEvent[] {
  const end = events.findLastIndex(endsExecution)
  return closeOpenCalls(
    events.filter(({ type }, index) => index < end || type === 'tool.result'),
    RUN_STOPPED,
  )
}

/** True for a result that does not say how its call ended. A command cannot forge it: `output` is never its own. */
export const isInterrupted = (result: ToolResult): boolean =>
  result.is_error && result.exit_code === null && result.output?.startsWith(MARK) === true

/** True for an event behind which no earlier user message waits for an answer any more. */
export function closesMessages(event: NewEvent): boolean {
  if (event.type === 'interrupted' || event.type === 'debug.ended') return true
  return event.type === 'run.state' && (isTerminal(event.data.state) || event.data.state === 'BLOCKED')
}
