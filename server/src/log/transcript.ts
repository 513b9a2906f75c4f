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
  /** What the agent said and did at once, with the results of its calls. Never empty. `id`: of its first message or call. */
  | { type: 'step'; id: string; parts: StepPart[] }
  /** What became of the workspace, or of its last answer, for the agent to know. */
  | { type: 'note'; text: string }
  /** Stands for what was said and done before it. */
  | { type: 'summary'; text: string }

/**
 * What was said and done, made of nothing but the log. The parts of one step are one entry. Text that was stored again under
 * the same id, such as the empty text that takes back a broken answer, counts in its last form, at its first place. Once the
 * conversation was compacted, it is what is told from there on.
 */
export function readTranscript(log: readonly NewEvent[], output_characters: number): Entry[] {
  const transcript = new Transcript(indexLog(log, output_characters))
  for (const event of log) transcript.add(event)
  return transcript.end()
}

class Transcript {
  readonly #index: LogIndex
  readonly #entries: Entry[] = []
  readonly #seen = new Set<string>()
  #parts: StepPart[] = []
  /** Of the first part. */
  #id = ''
  /** After its usage or its first result nothing more belongs to a step. */
  #is_complete = false
  /** What was said while a step was open. */
  #notes: Array<Extract<Entry, { type: 'note' }>> = []
  /** Calls of a step run one after the other: the first without a result is the one at work. */
  #open: CallPart[] = []
  #last: CallPart | undefined
  /** The last one, and how many entries came before it. */
  #compacted: { data: EventData<'context.compacted'>; at: number } | undefined

  constructor(index: LogIndex) {
    this.#index = index
  }

  add(event: NewEvent): void {
    if (event.type === 'message.user') {
      this.#endStep()
      this.#entries.push({ type: 'user', message: event.data })
    } else if (isPart(event)) this.#addPart(event)
    else if (event.type === 'setup') {
      this.#notes.push(...notesOf(event.data))
      this.#is_complete ||= this.#notes.length > 0
    } else if (event.type === 'model.told') {
      this.#notes.push({ type: 'note', text: event.data.text })
      this.#is_complete = true
    } else if (event.type === 'egress.refused')
      (this.#open[0] ?? this.#last)?.refusals.push(event.data.message)
    else if (endsStep(event)) this.#is_complete = true
    else if (event.type === 'tool.result') this.#endCall(event.data)
    else if (event.type === 'context.compacted') {
      this.#endStep()
      this.#compacted = { data: event.data, at: this.#entries.length }
    }
  }

  end(): Entry[] {
    this.#endStep()
    return this.#compacted
      ? applyCompaction(this.#entries, this.#compacted.data, this.#compacted.at)
      : this.#entries
  }

  #addPart(event: PartEvent): void {
    const part = partOf(event, this.#index)
    const key = keyOf(event)
    if (part === null || this.#seen.has(key)) return
    if (this.#is_complete) this.#endStep()
    this.#seen.add(key)
    if (this.#parts.length === 0) this.#id = idOf(event)
    this.#parts.push(part)
    if (part.type === 'call') this.#open.push(part)
  }

  #endCall({ tool_call_id }: EventData<'tool.result'>): void {
    this.#is_complete = true
    this.#last = this.#open.find((part) => part.call.tool_call_id === tool_call_id) ?? this.#last
    this.#open = this.#open.filter((part) => part !== this.#last)
  }

  #endStep(): void {
    if (this.#parts.length > 0) this.#entries.push({ type: 'step', id: this.#id, parts: this.#parts })
    this.#entries.push(...this.#notes)
    this.#notes = []
    this.#parts = []
    this.#open = []
    this.#is_complete = false
  }
}

/**
 * A conversation as it is told after it was compacted: the caller's messages that were kept, the summary, and everything
 * from the first kept entry on. `at`: how many entries came before the event. Ids and not places are what the event
 * names, so that it means the same wherever the log is read from.
 */
function applyCompaction(
  entries: readonly Entry[],
  { summary, kept_messages, kept_from }: EventData<'context.compacted'>,
  at: number,
): Entry[] {
  const found = kept_from === undefined ? -1 : entries.findIndex((entry) => entryId(entry) === kept_from)
  const from = found < 0 ? at : found
  const kept = new Set(kept_messages)
  const messages = entries
    .slice(0, from)
    .filter((entry) => entry.type === 'user' && kept.has(entry.message.message_id))
  return [...messages, { type: 'summary', text: summary }, ...entries.slice(from)]
}

/** What a compaction names it by; notes have no name. */
export function entryId(entry: Entry): string | undefined {
  if (entry.type === 'user') return entry.message.message_id
  return entry.type === 'step' ? entry.id : undefined
}

const notesOf = ({ workspace }: EventData<'setup'>) =>
  workspace ? [{ type: 'note' as const, text: workspace.note }] : []

type PartEvent = Extract<NewEvent, { type: 'message.assistant' | 'reasoning' | 'tool.call' }>

const isPart = (event: NewEvent): event is PartEvent =>
  event.type === 'message.assistant' || event.type === 'reasoning' || event.type === 'tool.call'

const idOf = (event: PartEvent): string =>
  event.type === 'tool.call' ? event.data.tool_call_id : event.data.message_id

const keyOf = (event: PartEvent): string => `${event.type === 'tool.call' ? 'call' : 'text'} ${idOf(event)}`

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
