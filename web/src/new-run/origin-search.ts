import { textOf } from '../shell/search-value.ts'

interface OriginSearch {
  replay?: string
  fork?: string
  /** Of the event whose turn a fork goes on from; else the last turn. */
  sequence?: number
  /** What the form of a new run begins with. */
  environment?: string
  prompt?: string
  /** Address of a repository; `#` and a branch, tag or commit may follow. */
  repo?: string
  skill?: string
  identity?: string
}

const LONGEST_PROMPT = 16_000

/** The run that a new one does again, or goes on from. */
export function readOrigin(search: Record<string, unknown>): OriginSearch {
  const { replay, fork, sequence, environment, skill, identity, prompt } = search
  const repo = textOf(search.repo)
  if (typeof replay === 'string') return { replay }
  if (typeof fork === 'string') return { fork, ...(typeof sequence === 'number' ? { sequence } : {}) }
  return {
    ...(typeof environment === 'string' ? { environment } : {}),
    // Longer than other texts of addresses are.
    ...(typeof prompt === 'string' || typeof prompt === 'number'
      ? { prompt: String(prompt).slice(0, LONGEST_PROMPT) }
      : {}),
    ...(repo ? { repo } : {}),
    ...(typeof skill === 'string' ? { skill } : {}),
    ...(typeof identity === 'string' ? { identity } : {}),
  }
}

/** An address and what follows its `#`, as the command line takes them. */
export function splitRepository(repo: string): { repository: string; ref: string } {
  const [repository = '', ...rest] = repo.split('#')
  return { repository, ref: rest.join('#') }
}
