/** Where on GitHub a payload comes from, and how our own comments are told. */
import type { Thread } from '../store/trigger-replies.ts'
import { at } from './pull-request-of.ts'

/** Of a comment of ours, before all else; invisible there. Whichever installation it is of, no trigger answers it. */
const OWN_COMMENT = /^<!-- runyard:[0-9a-f-]{36} -->/

/** The comment that a payload is about was written by a trigger. */
export function isOwnComment(payload: unknown): boolean {
  const body = at(payload, 'comment', 'body')
  return typeof body === 'string' && OWN_COMMENT.test(body)
}

const ABOUT: Record<string, 'issue' | 'pull_request'> = {
  issues: 'issue',
  issue_comment: 'issue',
  pull_request: 'pull_request',
  pull_request_review: 'pull_request',
  pull_request_review_comment: 'pull_request',
}

/** Where an event of GitHub can be answered; `null` where nowhere. */
export function threadOf({ event, payload }: { event: string | null; payload: unknown }): Thread | null {
  const about = ABOUT[event ?? '']
  if (!about) return null
  const repository = at(payload, 'repository', 'full_name')
  const page = at(payload, 'repository', 'html_url')
  const number = at(payload, about, 'number')
  const host = typeof page === 'string' ? URL.parse(page)?.host : undefined
  if (!host || typeof repository !== 'string' || !isRepository(repository) || !isId(number)) return null
  const thread = { host, repository, number }
  if (event !== 'pull_request_review_comment') return thread
  // Replies hang on the first comment of a thread.
  const first = at(payload, 'comment', 'in_reply_to_id') ?? at(payload, 'comment', 'id')
  return isId(first) ? { ...thread, review_comment_id: first } : null
}

const isRepository = (path: string): boolean =>
  /^(?!\.{1,2}\/)[\w.-]{1,100}\/(?!\.{1,2}$)[\w.-]{1,100}$/.test(path)

const isId = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
