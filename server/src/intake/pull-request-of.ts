import type { PullRequestStatus } from '../contract/artifact.ts'
import { isRecord } from '../contract/storable-text.ts'
import type { TriggerVerification } from '../contract/trigger.ts'

/** What a payload says of a pull request. */
export interface PullRequestNews {
  /** Addresses for people of the pull requests that it is about. */
  urls: string[]
  /** Whether it was opened or was pushed to, and by whom, as far as that is said. */
  push: { commit: string | null; branch: string | null; by_author: boolean } | null
  /** How the one that it is about stands, where that is said. */
  status: PullRequestStatus | null
}

const NONE: PullRequestNews = { urls: [], push: null, status: null }

/** The pull requests that a payload of GitHub or GitLab is about; of other senders none is known. */
export function pullRequestOf(verification: TriggerVerification, payload: unknown): PullRequestNews {
  if (!isRecord(payload)) return NONE
  if (verification === 'github') return ofGitHub(payload)
  if (verification === 'gitlab') return ofGitLab(payload)
  return NONE
}

function ofGitHub(payload: Record<string, unknown>): PullRequestNews {
  const pull = at(payload, 'pull_request')
  // Checks and workflows name their pull requests by number alone.
  const numbered = ['check_run', 'check_suite', 'workflow_run'].flatMap((name) =>
    [at(payload, name, 'pull_requests'), at(payload, name, 'check_suite', 'pull_requests')].flatMap((list) =>
      Array.isArray(list) ? list.map((item: unknown) => at(item, 'number')) : [],
    ),
  )
  const repository = text(at(payload, 'repository', 'html_url'))
  const urls = [
    at(pull, 'html_url'),
    at(payload, 'issue', 'pull_request', 'html_url'),
    ...numbered.map((number) =>
      repository !== null && Number.isSafeInteger(number) ? `${repository}/pull/${number}` : null,
    ),
  ]
  const action = at(payload, 'action')
  const is_push = pull !== undefined && (action === 'opened' || action === 'synchronize')
  const author = at(pull, 'user', 'login')
  const push = {
    commit: text(at(pull, 'head', 'sha')),
    branch: text(at(pull, 'head', 'ref')),
    by_author: author !== undefined && author === at(payload, 'sender', 'login'),
  }
  return { urls: addresses(urls), push: is_push ? push : null, status: statusOf(pull) }
}

function ofGitLab(payload: Record<string, unknown>): PullRequestNews {
  const own = payload.object_kind === 'merge_request' ? at(payload, 'object_attributes') : undefined
  const urls = [
    at(payload, 'merge_request', 'url'),
    // Of a note it is the address of the note, which is that of its merge request and a fragment.
    at(payload, 'object_attributes', 'url'),
  ]
  const action = at(own, 'action')
  const is_push = action === 'open' || (action === 'update' && at(own, 'oldrev') !== undefined)
  const author = at(own, 'author_id')
  const push = {
    commit: text(at(own, 'last_commit', 'id')),
    branch: text(at(own, 'source_branch')),
    by_author: author !== undefined && author === at(payload, 'user', 'id'),
  }
  return { urls: addresses(urls), push: is_push ? push : null, status: statusOf(own) }
}

/** GitHub calls an open one `open` and a merged one `closed`, GitLab `opened` and `merged`. */
function statusOf(pull: unknown): PullRequestStatus | null {
  const state = at(pull, 'state')
  if (state === 'merged' || at(pull, 'merged') === true || typeof at(pull, 'merged_at') === 'string')
    return 'merged'
  if (state === 'closed') return 'closed'
  if (state !== 'open' && state !== 'opened') return null
  return at(pull, 'draft') === true || at(pull, 'work_in_progress') === true ? 'draft' : 'open'
}

/** A field of what others sent, by its path; own ones alone. */
export function at(value: unknown, ...names: string[]): unknown {
  return names.reduce<unknown>(
    (inner, name) => (isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined),
    value,
  )
}

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Without fragments, each once. */
const addresses = (values: readonly unknown[]): string[] => [
  ...new Set(
    values.flatMap((value) =>
      typeof value === 'string' && /^https?:\/\//.test(value) ? [value.replace(/[#?].*$/s, '')] : [],
    ),
  ),
]
