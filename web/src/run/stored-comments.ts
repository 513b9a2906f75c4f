import type { LineComment } from './line-comment.ts'

const PREFIX = 'runyard comments '

/** The author and the run: after a session has expired, another person may sign in in the same tab. */
export interface CommentsOwner {
  principal_id: string
  run_id: string
}

const nameKey = ({ principal_id, run_id }: CommentsOwner): string => `${PREFIX}${principal_id} ${run_id}`

/** The comments that this tab has kept: signing in again and reloading the page lose none. */
export function readStored(owner: CommentsOwner): LineComment[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(nameKey(owner)) ?? '[]')
    return Array.isArray(stored) ? stored : []
  } catch {
    return []
  }
}

export function storeComments(owner: CommentsOwner, comments: readonly LineComment[]): void {
  try {
    if (comments.length === 0) sessionStorage.removeItem(nameKey(owner))
    else sessionStorage.setItem(nameKey(owner), JSON.stringify(comments))
  } catch {
    // A browser without storage: the page still asks before it is left.
  }
}

/** After signing out nobody finds them in this tab. */
export function forgetComments(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key)
  } catch {
    // Nothing was stored either.
  }
}
