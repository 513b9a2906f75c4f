import type { AssistantContent, ModelMessage, ToolContent } from 'ai'
import { z } from 'zod'
import type { EventData, NewEvent } from '../contract/event.ts'
import { WORKER_LOST } from '../log/interruption.ts'
import { type Entry, readTranscript, type StepPart } from '../log/transcript.ts'
import { CallIds, nameForProvider } from './provider-names.ts'

type AssistantPart = Exclude<AssistantContent, string>[number]
type Call = Extract<StepPart, { type: 'call' }>

// Only for calls of other harnesses: the loop's own results say what the model was told.
const MAX_OUTPUT_CHARACTERS = 30_000
const ProviderOptions = z.record(z.string(), z.record(z.string(), z.json()))

/**
 * The conversation as a model is given it. A step is one assistant message, directly followed by the results of all its
 * calls: providers refuse anything else. A call without a result was interrupted, and is answered so. Names and ids are such
 * as every provider accepts, whoever made them.
 */
export const buildMessages = (log: readonly NewEvent[]): ModelMessage[] => toMessages(readEntries(log))

export const readEntries = (log: readonly NewEvent[]): Entry[] => readTranscript(log, MAX_OUTPUT_CHARACTERS)

export function toMessages(entries: readonly Entry[]): ModelMessage[] {
  const messages: ModelMessage[] = []
  const ids = new CallIds()
  for (const entry of entries) {
    if (entry.type === 'user') addUserText(messages, userText(entry.message))
    else if (entry.type === 'note') addUserText(messages, service(entry.text))
    else if (entry.type === 'summary') addUserText(messages, `${service(SUMMARISED)}\n\n${entry.text}`)
    else messages.push(...stepMessages(entry.parts, ids))
  }
  return messages
}

const service = (text: string) => `[From the service, not the user: ${text}]`
const SUMMARISED =
  'the conversation had become too long for your context window. Only the messages above are left of it as they were, and they may be dealt with already; this is your own summary of everything up to here. Go on from there, and do not do again what is done. What you need of files and outputs, read again, in parts where it is long.'

const REMINDER =
  '[From the service, not the user: the task is not over before submit_result was called with a result that fits. Go on, or hand in the result.]'

/** Says behind each answer that could have been the end, and to which nobody replied, that a result is still owed. */
export function addReminders(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.flatMap((message, at): ModelMessage[] => {
    const calls = Array.isArray(message.content) && message.content.some((part) => part.type === 'tool-call')
    const next = messages[at + 1]
    if (message.role !== 'assistant' || calls || next?.role === 'user') return [message]
    return [message, { role: 'user', content: REMINDER }]
  })
}

function stepMessages(parts: readonly StepPart[], ids: CallIds): ModelMessage[] {
  // Reasoning alone is the rest of an answer that was cut off; providers refuse it.
  if (parts.every((part) => part.type === 'reasoning')) return []
  const results = parts.flatMap(
    (part): ToolContent =>
      part.type === 'call' ? [{ type: 'tool-result', ...nameCall(part, ids), output: toolOutput(part) }] : [],
  )
  const answer: ModelMessage = { role: 'assistant', content: parts.map((part) => assistantPart(part, ids)) }
  return results.length === 0 ? [answer] : [answer, { role: 'tool', content: results }]
}

function assistantPart(part: StepPart, ids: CallIds): AssistantPart {
  if (part.type === 'text') return part
  if (part.type === 'reasoning') return { type: 'reasoning', text: part.text, ...optionsOf(part) }
  return { type: 'tool-call', ...nameCall(part, ids), input: part.call.input, ...optionsOf(part.call) }
}

const nameCall = ({ call }: Call, ids: CallIds) => ({
  toolCallId: ids.of(call.tool_call_id),
  toolName: nameForProvider(call.name),
})

function optionsOf({ provider_metadata }: { provider_metadata?: Record<string, unknown> | undefined }) {
  const { data } = ProviderOptions.safeParse(provider_metadata)
  return data && { providerOptions: data }
}

function toolOutput({ result, output, refusals }: Call) {
  if (!result) return { type: 'error-text', value: WORKER_LOST } as const
  const said = result.output ?? (output || `(no output, exit code ${result.exit_code ?? 'unknown'})`)
  // Most programs say of the proxy's answer no more than its number.
  const value = [said, ...refusals].join('\n')
  // A command that ended is no failed call, whatever its exit code: some providers wrap errors in another layer of JSON.
  const failed = result.is_error && typeof result.exit_code !== 'number'
  return { type: failed ? 'error-text' : 'text', value } as const
}

/** With the names of the files that came with it. */
export function userText({ text, attachments = [] }: EventData<'message.user'>): string {
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
