import type { RunEvent } from '@runyard/client'
import { oneLine } from './one-line.ts'
import type { Output } from './output.ts'
import { formatSize, summariseChanges } from './run-text.ts'

const TOLD = {
  cut: 'The answer was cut at the limit of output tokens; nothing of it was executed.',
  call_as_text: 'The answer had a call of a tool as text; nothing was executed.',
  call_unreadable: 'The provider could not read a call that the model began.',
} as const

type DataOf<T extends RunEvent['type']> = Extract<RunEvent, { type: T }>['data']
type Pushed = DataOf<'changes.pushed'>

/** An event that is one line to a reader; empty when it is none, as the kinds of newer servers are. */
export function noteOf(event: RunEvent, { colors }: Output): string {
  switch (event.type) {
    case 'attempt.lost':
      return colors.yellow(`! Attempt ${event.data.attempt} was lost: ${oneLine(event.data.reason)}`)
    case 'attempt.started':
      return event.data.debug ? colors.cyan("· A debug turn works in the failed setup's sandbox") : ''
    case 'debug.ended':
      return noteDebugEnd(event.data, colors)
    case 'interrupted':
      return colors.yellow(`■ Interrupted${event.data.by ? ` by ${oneLine(event.data.by)}` : ''}`)
    case 'approval.requested': {
      const { tool, title, input } = event.data
      const asked = colors.yellow(`? May it? ${oneLine(title ?? tool)}`)
      return input ? `${asked}  ${colors.dim(oneLine(JSON.stringify(input)))}` : asked
    }
    case 'approval.answered':
      return colors.yellow(`! ${describeAnswer(event.data)}`)
    case 'artifact.created': {
      const { artifact_uid, artifact_type, filepath, size_bytes, diff, title } = event.data
      // The call of the tool stands right before it.
      if (artifact_type === 'PLAN') return ''
      if (diff) return `${colors.cyan('±')} ${oneLine(summariseChanges(diff))}`
      const name = title === undefined ? filepath : `${title} (${filepath})`
      return `${colors.cyan('+')} ${oneLine(name)}  ${colors.dim(oneLine(`${formatSize(size_bytes)}  ${artifact_uid}`))}`
    }
    case 'reference.reported': {
      const { reference_type, title, url } = event.data
      const what = `${reference_type.toLowerCase().replaceAll('_', ' ')}${title ? `: ${title}` : ''}`
      return `${colors.cyan('→')} ${oneLine(what)}  ${colors.dim(oneLine(url))}`
    }
    case 'changes.pushed': {
      const { mark, said } = describePush(event.data)
      return `${colors.green(mark)} ${oneLine(said)}  ${colors.dim(oneLine(event.data.url))}`
    }
    case 'retrying':
      return colors.yellow(`↻ ${oneLine(event.data.message)} ${colors.dim(nextTry(event.data))}`)
    case 'model.told':
      return colors.yellow(`! ${TOLD[event.data.reason]} ${colors.dim('The model was told.')}`)
    case 'model.switched': {
      const { from, to, message = '' } = event.data
      return `${colors.yellow(`⇄ Switched from ${oneLine(from)} to ${oneLine(to)}`)}  ${colors.dim(oneLine(message))}`.trimEnd()
    }
    case 'context.compacted': {
      const { tokens_before, tokens_after } = event.data
      const tokens = `${tokens_before.toLocaleString('en')} → ${tokens_after.toLocaleString('en')} tokens`
      return `${colors.cyan('≈')} The conversation was summarised  ${colors.dim(tokens)}`
    }
    case 'egress.refused':
      return colors.yellow(`! ${oneLine(event.data.message)}`)
    case 'error':
      return colors.red(`✗ ${oneLine(event.data.message)}`)
    default:
      return ''
  }
}

function noteDebugEnd(
  { outcome, status_message, undelivered = 0 }: DataOf<'debug.ended'>,
  colors: Output['colors'],
): string {
  if (outcome === 'SUCCEEDED' && undelivered === 0) return colors.cyan('· The debug turn ended')
  const why = status_message ? `: ${oneLine(status_message.message)}` : ''
  const left = undelivered > 0 ? ` ${undelivered} of the messages wait for the next turn.` : ''
  return colors.yellow(`! The debug turn ended (${oneLine(outcome)})${why}${left}`)
}

function describeAnswer({ decision, author, reason }: DataOf<'approval.answered'>): string {
  const said =
    decision === 'deny' ? 'Denied' : decision === 'allow_always' ? 'Allowed from now on' : 'Allowed'
  return `${said} by ${oneLine(author)}${reason ? `: ${oneLine(reason)}` : ''}`
}

function describePush({ branch, repository, pull_request, is_linked }: Pushed): {
  mark: string
  said: string
} {
  const what = pull_request
    ? `pull request #${pull_request.number} of ${repository}`
    : `${branch} of ${repository}`
  return is_linked
    ? { mark: '=', said: `Nothing was opened: ${what} has the same files` }
    : { mark: '↑', said: what }
}

/** `trying again in 30 s (18)`. */
export const nextTry = ({
  delay_ms,
  retry,
}: Pick<Extract<RunEvent, { type: 'retrying' }>['data'], 'delay_ms' | 'retry'>): string =>
  `trying again${delay_ms > 0 ? ` in ${formatSeconds(delay_ms)}` : ''} (${retry})`

const formatSeconds = (milliseconds: number): string => `${Math.ceil(milliseconds / 1_000)} s`
