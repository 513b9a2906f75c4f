import type { EventData, NewEvent } from '../contract/event.ts'
import { findQuestions } from './approvals.ts'
import { closesMessages } from './interruption.ts'
import { endsStep } from './step-end.ts'

export interface Progress {
  /** A user message or the results of tool calls wait for the model. */
  needs_step: boolean
  /** Completed steps since the conversation was last closed. */
  steps: number
  /** Of those without a call since the user last said something: answers that could have been the end. */
  answers: number
  /**
   * Calls without a result, in order. Calls are executed one after the other, so the first of them may have started
   * and the others have not. A run that is blocked because one of them has to be allowed keeps them open.
   */
  open_calls: Array<EventData<'tool.call'>>
  /** Those of the last step that went well, where nothing has been said since. */
  last_calls: Array<EventData<'tool.call'>>
  /** Text and reasoning of a step that was cut off before its end; they are to be taken back. */
  torn: Array<Extract<NewEvent, { type: 'message.assistant' | 'reasoning' }>>
}

/** Behind these the model is asked again. */
const GOES_ON: ReadonlySet<string> = new Set(['retrying', 'model.told', 'model.switched'])

/**
 * What the log leaves to do for the built-in loop. A step is stored in this order: its text, reasoning and tool calls,
 * then its `usage`, which marks it as complete, then the results of its calls.
 */
export function readProgress(log: readonly NewEvent[]): Progress {
  const questions = findQuestions(log)
  let waiting = false
  let steps = 0
  let calls_in_step = 0
  let answers = 0
  let torn = new Map<string, Progress['torn'][number]>()
  const open = new Map<string, EventData<'tool.call'>>()
  let last_calls: Progress['last_calls'] = []
  for (const event of log) {
    if (closesMessages(event) && !questions.has(event)) {
      waiting = false
      steps = 0
      calls_in_step = 0
      torn = new Map()
      open.clear()
      last_calls = []
      answers = 0
    } else if (event.type === 'message.user') {
      waiting = true
      last_calls = []
      answers = 0
    } else if (event.type === 'message.assistant' || event.type === 'reasoning') {
      if (isTakenBack(event)) torn.delete(event.data.message_id)
      else torn.set(event.data.message_id, event)
    } else if (event.type === 'tool.call') {
      open.set(event.data.tool_call_id, event.data)
      calls_in_step += 1
      torn.clear()
    } else if (event.type === 'tool.result') {
      const call = open.get(event.data.tool_call_id)
      if (!call) continue
      open.delete(call.tool_call_id)
      waiting = true
      if (!event.data.is_error) last_calls.push(call)
    } else if (GOES_ON.has(event.type)) {
      waiting = true
    } else if (endsStep(event)) {
      waiting = calls_in_step > 0
      if (!waiting) answers += 1
      last_calls = []
      steps += 1
      calls_in_step = 0
      torn.clear()
    }
  }
  return {
    needs_step: waiting,
    steps,
    answers,
    last_calls,
    open_calls: [...open.values()],
    torn: [...torn.values()],
  }
}

/** The event that takes back a text already shown or stored: an empty one under its id replaces it. */
export const takeBack = (type: 'message.assistant' | 'reasoning', message_id: string): NewEvent => ({
  type,
  data: { message_id, text: '' },
})

const isTakenBack = ({ data }: Progress['torn'][number]) =>
  data.text === '' && (!('provider_metadata' in data) || data.provider_metadata === undefined)
