import type { WebhookEvent } from '../contract/webhook.ts'

/** What is said of an event to people. All of it is text that agents and strangers may have written. */
export interface Message {
  /** What happened, in a word or two. */
  headline: string
  tone: 'good' | 'bad' | 'wait' | 'plain'
  /** On one line. */
  title: string
  link: string
  /** Why the run has stopped: a question, a call to be allowed, an error. */
  why: string | null
  /** The beginning of what the agent said last. */
  said: string | null
  pulls: Array<{ url: string; label: string }>
  facts: string[]
}

type Told = Pick<Message, 'headline' | 'tone'>

const NEEDS_YOU: Told = { headline: 'Needs you', tone: 'wait' }
const TOLD: Record<WebhookEvent['type'], Told> = {
  'run.created': { headline: 'New run', tone: 'plain' },
  'run.started': { headline: 'Started', tone: 'plain' },
  'run.blocked': NEEDS_YOU,
  'run.succeeded': { headline: 'Done', tone: 'good' },
  'run.failed': { headline: 'Failed', tone: 'bad' },
  'run.errored': { headline: 'Stopped by an error', tone: 'bad' },
  'run.cancelled': { headline: 'Cancelled', tone: 'plain' },
  'webhook.test': { headline: 'Test', tone: 'plain' },
}

export function messageOf({ type, data }: WebhookEvent): Message {
  const { title, link, message, result, changes, pull_requests = [], creator, error_code } = data
  const said = result ?? null
  return {
    // A setup that failed waits for whoever can mend the environment.
    ...(error_code === 'environment_setup_failed' ? NEEDS_YOU : TOLD[type]),
    ...{ title: title.replace(/\s+/g, ' ').trim(), link },
    // A question is often the last thing that the agent said.
    why: message && !said?.includes(message) ? message : null,
    said,
    // As the git host said it.
    pulls: pull_requests
      .filter(({ url }) => /^https?:\/\//i.test(url))
      .map(({ url, number, repository }) => ({ url, label: `${repository}#${number}` })),
    facts: [
      ...(error_code === 'environment_setup_failed' ? ['The setup of its environment failed'] : []),
      ...(changes ? [countChanges(changes)] : []),
      ...(type === 'webhook.test' ? [] : [`Asked for by ${creator.display_name ?? creator.uid}`]),
    ],
  }
}

const countChanges = ({
  files_changed,
  additions,
  deletions,
}: NonNullable<WebhookEvent['data']['changes']>) =>
  `+${additions} −${deletions} in ${files_changed} ${files_changed === 1 ? 'file' : 'files'}`
