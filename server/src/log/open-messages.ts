import type { EventData, NewEvent } from '../contract/event.ts'
import { closesMessages } from './interruption.ts'

/** How far a step came: its latest call and, when that ended, how. */
export interface StepProgress {
  tool_call_id: string
  /** Calls so far; a step whose worker was lost is called again. */
  calls: number
  result?: EventData<'tool.result'>
}

/** A user message that is not closed yet, and what the log says was done about it. */
export interface OpenMessage {
  message_id: string
  /** The prompt of a run, not a follow-up. */
  is_prompt: boolean
  text: string
  steps: Map<number, StepProgress>
  /** Ids of the commentary that is in the log already. */
  said: Set<string>
}

/**
 * The user messages that the log leaves open, in order. A message is closed by a later interruption and by a later
 * end or block of a run; one whose step failed stays listed until then, since it decides the outcome.
 */
export function openMessages(history: readonly NewEvent[]): OpenMessage[] {
  const open = new Map<string, OpenMessage>()
  for (const event of history) {
    if (closesMessages(event)) open.clear()
    else if (event.type === 'message.user') open.set(event.data.message_id, newMessage(event.data))
    else if (event.type === 'message.assistant') {
      const message_id = partOf(event.data.message_id)?.message_id
      open.get(message_id ?? '')?.said.add(event.data.message_id)
    } else if (event.type === 'tool.call') recordCall(open, event.data.tool_call_id)
    else if (event.type === 'tool.result') recordResult(open, event.data)
  }
  return [...open.values()]
}

export const newMessage = ({ message_id, followup_id, text }: EventData<'message.user'>): OpenMessage => ({
  message_id,
  is_prompt: followup_id === undefined,
  text,
  steps: new Map(),
  said: new Set(),
})

/** Ids are made of the message's, so that any worker computes the same ones. */
export const callId = (message_id: string, step: number, repeat: number): string =>
  repeat === 0 ? `${message_id}:${step}` : `${message_id}:${step}:r${repeat}`
export const textId = (message_id: string, part: number): string => `${message_id}:text${part}`
export const noteId = (message_id: string, step: number, repeat: number): string =>
  `${callId(message_id, step, repeat)}:note`

function recordCall(open: Map<string, OpenMessage>, tool_call_id: string): void {
  const part = partOf(tool_call_id)
  const steps = open.get(part?.message_id ?? '')?.steps
  if (part === null || steps === undefined) return
  steps.set(part.step, { tool_call_id, calls: (steps.get(part.step)?.calls ?? 0) + 1 })
}

function recordResult(open: Map<string, OpenMessage>, result: EventData<'tool.result'>): void {
  const part = partOf(result.tool_call_id)
  const step = part && open.get(part.message_id)?.steps.get(part.step)
  if (step?.tool_call_id === result.tool_call_id) step.result = result
}

/** The message, and the step where there is one, that an id made by this file belongs to. */
function partOf(id: string): { message_id: string; step: number } | null {
  const [, message_id, step] = /^(.+?):(?:text)?(\d+)(?::r\d+)?(?::note)?$/.exec(id) ?? []
  return message_id === undefined ? null : { message_id, step: Number(step) }
}
