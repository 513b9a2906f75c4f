import { GitHostFailure, printable, propertyOf, stringOf } from './git-host-api.ts'
import type { PullsPlace } from './pulls.ts'

/** How a pull request stands at its host. */
export interface PullState {
  state: 'open' | 'merged' | 'closed'
  title: string
  /** The branch that it is to be merged into. */
  base: string
  is_draft: boolean
  head_commit: string
  /** Of an open one; `null`: the host does not know yet. */
  mergeable: boolean | null
  /** What stands in the way, or is worth knowing: sentences. */
  note: string | null
  /** RFC 3339. */
  merged_at: string | null
}

export type MergeMethod = 'merge' | 'squash' | 'rebase'

/** One pull request. Throws `GitHostFailure`. */
export interface Merging {
  read(): Promise<PullState>
  /**
   * Merges this commit and no other; throws also where a success does not say that it is merged. Whether it was is for `read` to
   * say then, as where the answer is lost.
   */
  merge(method: MergeMethod, commit: string): Promise<void>
}

export interface MergingPlace extends PullsPlace {
  number: number
  /** After so long nothing is tried again. */
  limit_ms?: number
}

const MAX_TITLE = 500

/** What a host says in a line, cut. */
export const lineOf = (data: unknown, name: string): string =>
  [...printable(stringOf(data, name) ?? '')].slice(0, MAX_TITLE).join('')

/** A time of a host; `null` where it is none, or of a year that RFC 3339 or a reader of it does not know. */
function timeOf(data: unknown, name: string): string | null {
  const time = Date.parse(stringOf(data, name) ?? '')
  const text = Number.isNaN(time) ? '' : new Date(time).toISOString()
  return /^(?!0000)\d{4}-/.test(text) ? text : null
}

/** The id of a commit; `null` where it is none. */
export function commitOf(data: unknown, name: string): string | null {
  const text = stringOf(data, name)
  return text !== null && /^[0-9a-f]{40,64}$/.test(text) ? text : null
}

/** What both hosts say alike, and by `judge` whether it can be merged. */
export const stateOf = (
  data: unknown,
  at: Pick<PullState, 'state' | 'base' | 'head_commit'>,
  judge: (data: unknown, base: string) => Pick<PullState, 'mergeable' | 'note'>,
): PullState => ({
  ...at,
  title: lineOf(data, 'title'),
  is_draft: isDraft(data),
  merged_at: timeOf(data, 'merged_at'),
  ...(at.state === 'open' ? judge(data, at.base) : { mergeable: null, note: null }),
})

/** A standing that has no words of its own here: whatever it is, it is no permission. */
export const inWordsOf = (host: string, standing: string): Pick<PullState, 'mergeable' | 'note'> => ({
  mergeable: false,
  note: `${host} says: ${lineOf({ standing }, 'standing').replaceAll('_', ' ')}.`,
})

export const isDraft = (data: unknown): boolean => propertyOf(data, 'draft') === true
export const DRAFT = { mergeable: false, note: 'It is a draft.' } as const

/** The host would not merge it. */
export const refuseMerge = (host: string, said: string): GitHostFailure =>
  new GitHostFailure('other', `${host} does not merge it${said}.`)
