/** What a trigger says on GitHub of its run, in Markdown. */
import type { Push } from '../store/pushes.ts'
import type { DueReply } from '../store/trigger-replies.ts'

/** GitHub takes 65,536 characters of a comment; nobody reads as many. */
const MAX_ANSWER = 20_000
const MAX_REASON = 2_000

/** Invisible on GitHub. By it our comment is found again, and not taken for somebody's who wants an answer. */
export const markOf = ({ delivery_id }: Pick<DueReply, 'delivery_id'>): string =>
  `<!-- runyard:${delivery_id} -->`

export interface ReplyContent {
  /** The page of the run. */
  link: string
  /** What the agent said last. */
  answer: string | null
  pushes: readonly Push[]
}

/** What is to be said of the run as it is now; `null`: nothing yet. Two that are the same say the same. */
export function wantedOf({ end, state, last_sequence, reply, told }: DueReply): string | null {
  if (end) return `ended ${end.sequence}`
  if (state === 'BLOCKED') return `blocked ${last_sequence}`
  return reply?.when === 'end' && told === null ? null : 'working'
}

export function writeReply(due: DueReply, { link, answer, pushes }: ReplyContent): string {
  const { end, state, status_message } = due
  const reason = end ? end.status_message?.message : status_message?.message
  const said = end || state === 'BLOCKED' ? answer : null
  const links = end ? pushes.map(describePush) : []
  return [
    `${markOf(due)}\n${headline(end?.state ?? state, link)}`,
    ...(reason ? [quote(defuse(cut(reason, MAX_REASON)))] : []),
    ...(said ? [closeFence(defuse(cut(said, MAX_ANSWER)))] : []),
    ...(links.length > 0 ? [links.join('\n')] : []),
  ].join('\n\n')
}

function headline(state: DueReply['state'], link: string): string {
  switch (state) {
    case 'SUCCEEDED':
      return `Runyard is [done](${link}).`
    case 'FAILED':
    case 'ERROR':
      return `Runyard [could not do it](${link}).`
    case 'CANCELLED':
      return `Runyard was [stopped](${link}).`
    case 'BLOCKED':
      return `Runyard [waits for a person](${link}).`
    default:
      return `Runyard [is working on it](${link}).`
  }
}

const describePush = ({ repository, branch, url, pull_request }: Push): string =>
  pull_request
    ? `- Pull request [#${pull_request.number}](${url}) in ${repository}`
    : `- Branch [${branch}](${url}) in ${repository}`

/**
 * An agent that repeats what strangers wrote must not call people. GitHub looks for names in what the Markdown has become, so `_@ann_`,
 * `\@ann` and `&#64;ann` call Ann as well.
 */
const defuse = (text: string): string =>
  text
    .replace(/&(?=#(?:0*64|x0*40);|commat;)/gi, '&amp;')
    .replace(/(?<![A-Za-z0-9])@(?=[A-Za-z0-9\\&<])/g, '@\u2060')
    .replaceAll('<!--', '&lt;!--')

const quote = (text: string): string => text.replace(/^/gm, '> ')

/** What follows is not to stand in a block of code that was left open. */
function closeFence(text: string): string {
  let open: string | null = null
  for (const [, fence = ''] of text.matchAll(/^ {0,3}(`{3,}|~{3,})/gm)) {
    if (open === null) open = fence
    else if (fence[0] === open[0] && fence.length >= open.length) open = null
  }
  return open === null ? text : `${text}\n${open}`
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}\n…`
