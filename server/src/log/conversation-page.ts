import type { EventType, RunEvent } from '../contract/event.ts'
import { closesMessages } from './interruption.ts'
import { endsStep } from './step-end.ts'

/** What a conversation does not tell. */
const UNSEEN: readonly EventType[] = ['run.state', 'attempt.started', 'followup.delivered', 'usage']

/**
 * How many of these events a page of a conversation holds when others come after them: up to the last message of the caller
 * before which everything was complete; else up to the last place where no call was open and no text could still be
 * taken back; else all.
 */
export function endOfPage(events: readonly RunEvent[]): number {
  const calls = new Set<string>()
  const texts = new Set<string>()
  let has_begun = false
  let before_message = 0
  let complete = 0
  for (const [place, event] of events.entries()) {
    // What another run left open, its own log has closed or nobody will.
    if (event.run_id !== events[place - 1]?.run_id) {
      calls.clear()
      texts.clear()
    }
    // A page shows something: what stands before the first message does not.
    if (has_begun && calls.size === 0 && texts.size === 0) {
      complete = place
      if (event.type === 'message.user') before_message = place
    }
    has_begun ||= !UNSEEN.includes(event.type)
    if (closesMessages(event)) {
      calls.clear()
      texts.clear()
    } else if (event.type === 'tool.call') {
      // The step went on, so its text stands.
      texts.clear()
      calls.add(event.data.tool_call_id)
    } else if (event.type === 'tool.result') calls.delete(event.data.tool_call_id)
    else if (endsStep(event)) texts.clear()
    else if (event.type === 'message.assistant' || event.type === 'reasoning') {
      if (event.data.text === '') texts.delete(event.data.message_id)
      else texts.add(event.data.message_id)
    }
  }
  return before_message || complete || events.length
}
