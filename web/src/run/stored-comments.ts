import type { LineComment } from './line-comment.ts'

const PREFIX = 'runyard comments '

/** The comments on a run that this tab has kept: signing in again and reloading the page lose none. */
export function readStored(run_id: string): LineComment[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(PREFIX + run_id) ?? '[]')
    return Array.isArray(stored) ? stored : []
  } catch {
    return []
  }
}

export function storeComments(run_id: string, comments: readonly LineComment[]): void {
  try {
    if (comments.length === 0) sessionStorage.removeItem(PREFIX + run_id)
    else sessionStorage.setItem(PREFIX + run_id, JSON.stringify(comments))
  } catch {
    // A browser without storage: the page still asks before it is left.
  }
}

/** The next person at this browser sees none of them. */
export function forgetComments(): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key)
  } catch {
    // Nothing was stored either.
  }
}
