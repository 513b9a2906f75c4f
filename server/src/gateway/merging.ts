import { GitHostFailure, printable, stringOf } from './git-host-api.ts'
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
  /** Merges this commit and no other. Whether it was is for `read` to say where the answer is lost. */
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

/** A time of a host; `null` where it is none. */
export function timeOf(data: unknown, name: string): string | null {
  const time = Date.parse(stringOf(data, name) ?? '')
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}

/** The host would not merge it. */
export const refuseMerge = (host: string, said: string): GitHostFailure =>
  new GitHostFailure('other', `${host} does not merge it${said}.`)
