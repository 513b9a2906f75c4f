import type { AssistantContent, ModelMessage, ToolContent } from 'ai'
import { z } from 'zod'
import type { EventData, NewEvent } from '../contract/event.ts'
import { WORKER_LOST } from './interruption.ts'

type AssistantPart = Exclude<AssistantContent, string>[number]
type Result = EventData<'tool.result'>

// Only for calls of other harnesses: the loop's own results say what the model was told.
const MAX_OUTPUT_CHARACTERS = 30_000
const ProviderOptions = z.record(z.string(), z.record(z.string(), z.json()))

/**
 * The conversation as a model is given it, made of nothing but the log. The parts of one step are one assistant
 * message, directly followed by the results of all its calls: providers refuse anything else. A call without a result
 * was interrupted by the loss of its worker and is answered so. Text that was stored again under the same id, such as
 * the empty text that takes back a broken answer, counts in its last form.
 */
export function buildMessages(log: readonly NewEvent[]): ModelMessage[] {
  const index = indexLog(log)
  const messages: ModelMessage[] = []
  let step: AssistantPart[] = []
  // After its usage or its first result nothing more belongs to a step.
  let complete = false
  const seen = new Set<string>()
  const endStep = () => {
    messages.push(...stepMessages(step, index))
    step = []
    complete = false
  }
  for (const event of log) {
    switch (event.type) {
      case 'message.user':
        endStep()
        addUserText(messages, userText(event.data))
        break
      case 'message.assistant':
      case 'reasoning':
      case 'tool.call': {
        const part = partOf(event, index)
        if (part === null || seen.has(idOf(event))) break
        if (complete) endStep()
        seen.add(idOf(event))
        step.push(part)
        break
      }
      case 'usage':
      case 'tool.result':
        complete = true
    }
  }
  endStep()
  return messages
}

interface LogIndex {
  /** The last text of each message. */
  texts: Map<string, string>
  results: Map<string, Result>
  outputs: Map<string, string>
}

function indexLog(log: readonly NewEvent[]): LogIndex {
  const index: LogIndex = { texts: new Map(), results: new Map(), outputs: new Map() }
  for (const { type, data } of log) {
    if (type === 'message.assistant' || type === 'reasoning') index.texts.set(data.message_id, data.text)
    else if (type === 'tool.result') index.results.set(data.tool_call_id, data)
    else if (type === 'tool.output') {
      const text = (index.outputs.get(data.tool_call_id) ?? '') + data.text
      // Not after each event: one may be a single character.
      const too_long = text.length > 2 * MAX_OUTPUT_CHARACTERS
      index.outputs.set(data.tool_call_id, too_long ? text.slice(-MAX_OUTPUT_CHARACTERS) : text)
    }
  }
  return index
}

type PartEvent = Extract<NewEvent, { type: 'message.assistant' | 'reasoning' | 'tool.call' }>

const idOf = (event: PartEvent): string =>
  event.type === 'tool.call' ? `call ${event.data.tool_call_id}` : `text ${event.data.message_id}`

function partOf(event: PartEvent, { texts }: LogIndex): AssistantPart | null {
  if (event.type === 'tool.call') {
    const { tool_call_id: toolCallId, name: toolName, input } = event.data
    return { type: 'tool-call', toolCallId, toolName, input, ...optionsOf(event.data) }
  }
  const text = texts.get(event.data.message_id) ?? ''
  if (event.type === 'message.assistant') return text === '' ? null : { type: 'text', text }
  // Encrypted reasoning has no text, only what the provider wants back.
  if (text === '' && event.data.provider_metadata === undefined) return null
  return { type: 'reasoning', text, ...optionsOf(event.data) }
}

function optionsOf({ provider_metadata }: { provider_metadata?: Record<string, unknown> | undefined }) {
  const { data } = ProviderOptions.safeParse(provider_metadata)
  return data && { providerOptions: data }
}

function stepMessages(step: AssistantPart[], index: LogIndex): ModelMessage[] {
  // Reasoning alone is the rest of an answer that was cut off; providers refuse it.
  if (step.every((part) => part.type === 'reasoning')) return []
  const results = step.flatMap((part): ToolContent => {
    if (part.type !== 'tool-call') return []
    const { toolCallId, toolName } = part
    return [{ type: 'tool-result', toolCallId, toolName, output: toolOutput(toolCallId, index) }]
  })
  const answer: ModelMessage = { role: 'assistant', content: step }
  return results.length === 0 ? [answer] : [answer, { role: 'tool', content: results }]
}

function toolOutput(tool_call_id: string, { results, outputs }: LogIndex) {
  const result = results.get(tool_call_id)
  if (!result) return { type: 'error-text', value: WORKER_LOST } as const
  const value =
    result.output ??
    (outputs.get(tool_call_id)?.slice(-MAX_OUTPUT_CHARACTERS) ||
      `(no output, exit code ${result.exit_code ?? 'unknown'})`)
  // A command that ended is no failed call, whatever its exit code: some providers wrap errors in another layer of JSON.
  const failed = result.is_error && typeof result.exit_code !== 'number'
  return { type: failed ? 'error-text' : 'text', value } as const
}

function userText({ text, attachments = [] }: EventData<'message.user'>): string {
  const files = attachments.map(({ file_name, mime_type, path }) => `- ${file_name} (${mime_type}): ${path}`)
  const parts = [
    text.trim() === '' ? '' : text,
    files.length > 0 ? `Attached files:\n${files.join('\n')}` : '',
  ]
  // Providers refuse an empty message; an empty follow-up asks to go on.
  return parts.filter((part) => part !== '').join('\n\n') || 'Continue.'
}

/** Joins user messages that nothing stands between: many local models insist on alternating roles. */
function addUserText(messages: ModelMessage[], text: string): void {
  const last = messages.at(-1)
  if (last?.role === 'user' && typeof last.content === 'string') last.content += `\n\n${text}`
  else messages.push({ role: 'user', content: text })
}
