import type { RunEvent } from '@runyard/client'
import { formatBytes, formatCount } from '../text/format.ts'
import type { Entry, Tone } from './entry.ts'

export const keyOf = ({ sequence }: RunEvent): string => `event-${sequence}`

/** What was wrong with an answer of the model. */
const TOLD = {
  cut: 'The answer was cut at the limit of output tokens; nothing of it was executed.',
  call_as_text: 'The answer had a call of a tool as text; nothing was executed.',
  call_unreadable: 'The provider could not read a call that the model began.',
} as const

/** The entry of an event that says all by itself; undefined of those that take others to be understood. */
export function entryOf(event: RunEvent): Entry | undefined {
  const key = keyOf(event)
  const note = (
    tone: Tone,
    text: string,
    rest: { more?: string; url?: string; link?: string } = {},
  ): Entry => ({
    ...{ kind: 'note', key, tone, text },
    ...rest,
  })
  switch (event.type) {
    case 'attempt.lost':
      return note('warning', `Attempt ${event.data.attempt} was lost: ${event.data.reason}`, {
        more: 'Another worker takes over.',
      })
    case 'attempt.started':
      return event.data.debug
        ? note('plain', "A debug turn works in the failed setup's sandbox. The run stays failed.")
        : undefined
    case 'debug.ended':
      return note('plain', `The debug turn ended: ${event.data.outcome}.`, {
        more: explainDebugEnd(event.data),
      })
    case 'interrupted':
      return note('plain', event.data.by ? `Interrupted by ${event.data.by}.` : 'Interrupted.')
    case 'reasoning':
      return event.data.text.trim()
        ? { kind: 'reasoning', key, title: 'Reasoning', text: event.data.text }
        : undefined
    case 'artifact.created': {
      const { artifact_type, title, filename, size_bytes, diff } = event.data
      // The changes have a place of their own.
      if (diff) return undefined
      // The call that wrote it says the same, and the plan stays in sight.
      if (artifact_type === 'PLAN') return undefined
      return note('good', `Kept ${title ?? filename}`, { more: formatBytes(size_bytes) })
    }
    case 'reference.reported': {
      const { url, title, reference_type } = event.data
      const more = reference_type.toLowerCase().replaceAll('_', ' ')
      return note('good', 'Reported', { url, link: title ?? url, more })
    }
    case 'changes.pushed': {
      const { pull_request, branch, repository, url, is_linked } = event.data
      const link = pull_request
        ? `pull request #${pull_request.number} of ${repository}`
        : `${branch} of ${repository}`
      const said = is_linked ? 'Nothing was opened: the same files are in' : 'Pushed'
      return note('good', said, { url, link })
    }
    case 'retrying': {
      const { message, delay_ms, retry } = event.data
      const when = delay_ms > 0 ? ` in ${Math.ceil(delay_ms / 1_000)} s` : ''
      return note('warning', message, { more: `retry ${retry}${when}` })
    }
    case 'model.told':
      return note('warning', TOLD[event.data.reason], { more: 'The model was told, and goes on.' })
    case 'model.switched': {
      const { from, to, reason, message } = event.data
      const text = `Switched from ${from} to ${to}`
      return note(
        reason === 'followup' ? 'plain' : 'warning',
        text,
        message === undefined ? {} : { more: message },
      )
    }
    case 'context.compacted': {
      const { tokens_before, tokens_after, summary } = event.data
      const title = `The conversation was summarised: ${formatCount(tokens_before)} → ${formatCount(tokens_after)} tokens`
      return { kind: 'reasoning', key, title, text: summary }
    }
    case 'egress.refused':
      return note('warning', event.data.message)
    case 'error': {
      const { message, error_code } = event.data
      return { kind: 'end', key, state: 'ERROR', message, error_code, worked_ms: 0, sequence: event.sequence }
    }
    default:
      return undefined
  }
}

function explainDebugEnd({
  status_message,
  undelivered = 0,
}: Extract<RunEvent, { type: 'debug.ended' }>['data']): string {
  const left = undelivered > 0 ? `${undelivered} of the messages wait for the next turn.` : ''
  return [status_message?.message, left].filter(Boolean).join(' ')
}
