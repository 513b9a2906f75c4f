import { isInterrupted } from '../log/interruption.ts'
import type { CallPart, Entry } from '../log/transcript.ts'
import { clip, type MaskText } from './cut-text.ts'
import { userText } from './messages.ts'

/** A conversation as text, for who was not there. `max_output`: characters of what one call was given, and of what it returned. */
export const tellEntries = (entries: readonly Entry[], max_output: number, mask: MaskText): string =>
  entries
    .map((entry) => tellEntry(entry, max_output, mask))
    .filter((text) => text !== '')
    .join('\n\n')

function tellEntry(entry: Entry, max_output: number, mask: MaskText): string {
  if (entry.type === 'user') return `User: ${userText(entry.message)}`
  if (entry.type === 'note') return `[From the service, not the user: ${entry.text}]`
  if (entry.type === 'summary') return `[A summary of what came before:]\n\n${entry.text}`
  return entry.parts
    .flatMap((part) => {
      if (part.type === 'text') return [`You: ${part.text}`]
      return part.type === 'call' ? [tellCall(part, max_output, mask)] : []
    })
    .join('\n')
}

function tellCall({ call, result, output, refusals }: CallPart, max: number, mask: MaskText): string {
  const input = clip(JSON.stringify(call.input), max, mask)
  const said = clip([result?.output ?? output, ...refusals].filter(Boolean).join('\n'), max, mask)
  return `You called ${call.name} ${input}, which ${endOf(result)}${said ? `:\n${said}` : '.'}`
}

function endOf(result: CallPart['result']): string {
  if (!result) return 'has no result'
  if (isInterrupted(result)) return 'was interrupted'
  return result.is_error ? 'failed' : 'ended'
}
