import type { CheckedFetch } from './checked-fetch.ts'
import type { GitHostKind } from './gateway.ts'
import { type ApiAnswer, GitHostFailure, propertyOf, stringOf } from './git-host-api.ts'

export interface PullRequest {
  /** Its page. */
  url: string
  number: number
  /** The branch that it is to be merged into. */
  base: string
  /** False: it was open already, and is as it was. */
  created: boolean
}

/** Where pull requests are, and with what they are asked for. */
export interface PullsPlace {
  fetch: CheckedFetch
  kind: GitHostKind
  host: string
  /** Of the repository, as in `acme/site`. */
  path: string
  token: string
  /** What the token is called in messages. */
  credential_name: string
}

export interface PullRequestWish extends PullsPlace {
  branch: string
  /** Where there is no branch of this name, and for `null`, it is the repository's default branch. */
  base: string | null
  title: string
  body: string
  draft?: boolean
  /** The first pause before a request is tried again. */
  pause_ms?: number
}

/** One kind of git host. Its functions throw `GitHostFailure`. */
export interface Pulls {
  /** The open ones from the branch of this repository, the newest first. */
  findOpen(): Promise<Omit<PullRequest, 'created'>[]>
  hasBranch(name: string): Promise<boolean>
  findDefaultBranch(): Promise<string | null>
  /** `null` where one is open already. */
  create(base: string): Promise<Omit<PullRequest, 'created'> | null>
}

/**
 * The answer, where it is a success or its status is one of `expected`; throws `GitHostFailure` for all others. `needed`: what
 * a token lacks that may not.
 */
export function checkAnswer(
  { host, path, credential_name }: Pick<PullsPlace, 'host' | 'path' | 'credential_name'>,
  needed: string,
  answer: ApiAnswer,
  expected: number[] = [],
): ApiAnswer {
  const { status, said } = answer
  if ((status >= 200 && status < 300) || expected.includes(status)) return answer
  if (status === 401)
    throw new GitHostFailure('refused', `${host} refused the credential ${credential_name}${said}.`)
  if (status === 403 || status === 404) {
    const message = `The credential ${credential_name} lacks access to ${path} on ${host}, or ${needed}${said}.`
    throw new GitHostFailure(status === 403 ? 'refused' : 'not_found', message)
  }
  if (status >= 300 && status < 400)
    throw new GitHostFailure('not_found', `${path} on ${host} has moved; use its new address.`)
  throw new GitHostFailure('other', `${host} answered ${status}${said}.`)
}

/** An answer of the wrong shape. */
export const strange = ({ host }: Pick<PullRequestWish, 'host'>): GitHostFailure =>
  new GitHostFailure('other', `${host} answered with something that its API does not say.`)

/** Of a repository without commits GitLab says `null`. */
export function readDefaultBranch(wish: PullRequestWish, { data }: ApiAnswer): string | null {
  if (propertyOf(data, 'default_branch') === null) return null
  const name = stringOf(data, 'default_branch')
  if (name === null) throw strange(wish)
  return name
}

/** A page that people can be sent to. */
export const isPage = (text: string | null): text is string =>
  text !== null && text.length <= 2_000 && /^https?:\/\/[^\s"<>]+$/.test(text) && URL.canParse(text)
