import type { EventData, NewEvent } from '../contract/event.ts'
import { indexLog, type LogIndex } from './log-index.ts'
import { endsStep } from './step-end.ts'

/** A part of the agent's answer. */
export type StepPart =
  | { type: 'text'; text: string }
  /** Encrypted reasoning has no text, only what the provider wants back. */
  | { type: 'reasoning'; text: string; provider_metadata?: Record<string, unknown> | undefined }
  | CallPart

export interface CallPart {
  type: 'call'
  call: EventData<'tool.call'>
  /** `null`: the call was interrupted by the loss of its worker. */
  result: EventData<'tool.result'> | null
  output: string
  /** What the network policy refused while it ran, one line each. */
  refusals: string[]
}

/** One entry of a conversation, in order. */
export type Entry =
  | { type: 'user'; message: EventData<'message.user'> }
  /** What the agent said and did at once, with the results of its calls. Never empty. */
  | { type: 'step'; parts: StepPart[] }
  /** What became of the workspace, for the agent to know. */
  | { type: 'note'; text: string }

/**
 * What was said and done, made of nothing but the log. The parts of one step are one entry. Text that was stored again under
 * the same id, such as the empty text that takes back a broken answer, counts in its last form, at its first place.
 */
export function readTranscript(log: readonly NewEvent[], output_characters: number): Entry[] {
  const index = indexLog(log, output_characters)
  const entries: Entry[] = []
  let parts: StepPart[] = []
  // After its usage or its first result nothing more belongs to a step.
  let complete = false
  /** What was said while a step was open. */
  let notes: Array<Extract<Entry, { type: 'note' }>> = []
  const seen = new Set<string>()
  // Calls of a step run one after the other: the first without a result is the one at work.
  let open: CallPart[] = []
  let last: CallPart | undefined
  const endStep = () => {
    if (parts.length > 0) entries.push({ type: 'step', parts })
    entries.push(...notes)
    notes = []
    parts = []
    open = []
    complete = false
  }
  for (const event of log) {
    if (event.type === 'message.user') {
      endStep()
      entries.push({ type: 'user', message: event.data })
    } else if (isPart(event)) {
      const part = partOf(event, index)
      const id = idOf(event)
      if (part === null || seen.has(id)) continue
      if (complete) endStep()
      seen.add(id)
      parts.push(part)
      if (part.type === 'call') open.push(part)
    } else if (event.type === 'setup') {
      notes.push(...notesOf(event.data))
      complete ||= notes.length > 0
    } else if (event.type === 'egress.refused') (open[0] ?? last)?.refusals.push(event.data.message)
    else if (endsStep(event)) complete = true
    else if (event.type === 'tool.result') {
      complete = true
      const { tool_call_id } = event.data
      last = open.find((part) => part.call.tool_call_id === tool_call_id) ?? last
      open = open.filter((part) => part !== last)
    }
  }
  endStep()
  return entries
}

const notesOf = ({ workspace }: EventData<'setup'>) =>
  workspace ? [{ type: 'note' as const, text: workspace.note }] : []

type PartEvent = Extract<NewEvent, { type: 'message.assistant' | 'reasoning' | 'tool.call' }>

const isPart = (event: NewEvent): event is PartEvent =>
  event.type === 'message.assistant' || event.type === 'reasoning' || event.type === 'tool.call'

const idOf = (event: PartEvent): string =>
  event.type === 'tool.call' ? `call ${event.data.tool_call_id}` : `text ${event.data.message_id}`

/** `null`: it was taken back. */
function partOf(event: PartEvent, { texts, results, outputs }: LogIndex): StepPart | null {
  if (event.type === 'tool.call') {
    const { tool_call_id } = event.data
    const result = results.get(tool_call_id) ?? null
    return { type: 'call', call: event.data, result, output: outputs.get(tool_call_id) ?? '', refusals: [] }
  }
  const text = texts.get(event.data.message_id) ?? ''
  if (event.type === 'message.assistant') return text === '' ? null : { type: 'text', text }
  const { provider_metadata } = event.data
  return text === '' && provider_metadata === undefined
    ? null
    : { type: 'reasoning', text, provider_metadata }
}
