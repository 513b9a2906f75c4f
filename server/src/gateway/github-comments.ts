import type { CheckedFetch } from './checked-fetch.ts'
import type { GitCredential, GitHostKind } from './gateway.ts'
import { findCredential } from './git-credential.ts'
import { encodePath, kindOf } from './git-host.ts'
import { type ApiAnswer, GitHostFailure, openGitHostApi, propertyOf, stringOf } from './git-host-api.ts'
import { openTokens } from './git-tokens.ts'
import { isPage } from './pulls.ts'

/** Whoever asks tries again, later: what is asked here at once is asked once. */
const LIMIT_MS = 0
/** A thread with more comments than this has after a moment is not looked through. */
const MAX_PAGES = 10
const PAGE = 100
/** GitHub cuts times to the second, and its clock is another one than ours. */
const CLOCKS_DIFFER_MS = 10 * 60_000
/** What an App needs for comments on issues, on pull requests and on their code. */
const WANTED = [{ issues: 'write', pull_requests: 'write' }, { pull_requests: 'write' }, { issues: 'write' }]

export interface CommentPlace {
  /** As in `github.com`, perhaps with a port. */
  host: string
  /** As in `acme/site`. */
  repository: string
  /** Of the issue or pull request. */
  number: number
  /** Of the comment on code that is replied to. */
  review_comment_id?: number
}

export interface CommentOptions {
  fetch: CheckedFetch
  credential: GitCredential
  /** Whose API hosts speak, besides github.com. */
  kinds: Record<string, GitHostKind>
}

export interface PostedComment {
  id: number
  /** Its page. */
  url: string
}

export interface GithubComments {
  post(body: string): Promise<PostedComment>
  /** `null`: it is gone. */
  edit(id: number, body: string): Promise<PostedComment | null>
  /** The comment that begins with this text, of those since a moment by our clock; `null`: none is seen. */
  find(beginning: string, since: Date): Promise<PostedComment | null>
}

/**
 * GitHub's REST API, version 2022-11-28: "Issue comments" and "Pull request review comments". It is asked at the host of the credential
 * alone. All throw `GitHostFailure`: `not_found` and `other` where trying again is of no use.
 */
export async function openGithubComments(
  place: CommentPlace,
  { fetch, credential, kinds }: CommentOptions,
): Promise<GithubComments> {
  const { host, repository, number, review_comment_id } = place
  const { name } = credential
  if (!findCredential([credential], host, repository))
    throw new GitHostFailure('other', `${name} is not for ${repository} on ${host}.`)
  if (kindOf(credential.host, kinds) !== 'github')
    throw new GitHostFailure(
      'other',
      `${credential.host} is not known to be a GitHub host (RUNYARD_GIT_HOSTS).`,
    )
  const token = await openTokens(fetch, { limit_ms: LIMIT_MS, wanted: WANTED }).tokenOf(
    credential,
    repository,
  )
  const ask = openGitHostApi({ fetch, kind: 'github', host: credential.host, token, limit_ms: LIMIT_MS })
  const path = `/repos/${encodePath(repository)}`
  const kind = review_comment_id === undefined ? 'issues' : 'pulls'
  const comments = `${path}/${kind}/${number}/comments`

  const check = (answer: ApiAnswer): ApiAnswer => {
    const { status, said } = answer
    if (status >= 200 && status < 300) return answer
    if (status === 401) throw new GitHostFailure('refused', `${host} refused the credential ${name}${said}.`)
    if (status === 403 || status === 404)
      throw new GitHostFailure(
        'refused',
        `The credential ${name} lacks access to ${repository} on ${host}, or may not comment there${said}.`,
      )
    if (status >= 300 && status < 400)
      throw new GitHostFailure('other', `${repository} on ${host} has moved.`)
    throw new GitHostFailure('other', `${host} takes no such comment (${status})${said}.`)
  }
  const read = (data: unknown): PostedComment => {
    const [id, url] = [propertyOf(data, 'id'), stringOf(data, 'html_url')]
    if (typeof id !== 'number' || !Number.isSafeInteger(id) || !isPage(url))
      throw new GitHostFailure('unreachable', `${host} answered with something that its API does not say.`)
    return { id, url }
  }
  return {
    async post(body) {
      const to = review_comment_id === undefined ? comments : `${comments}/${review_comment_id}/replies`
      return read(check(await ask('POST', to, { body: { body } })).data)
    },
    async edit(id, body) {
      const answer = await ask('PATCH', `${path}/${kind}/comments/${id}`, { body: { body } })
      return answer.status === 404 || answer.status === 410 ? null : read(check(answer).data)
    },
    async find(beginning, since) {
      const from = new Date(since.getTime() - CLOCKS_DIFFER_MS).toISOString()
      for (let page = 1; page <= MAX_PAGES; page++) {
        const query = { since: from, per_page: String(PAGE), page: String(page) }
        const { data } = check(await ask('GET', comments, { query }))
        const found: unknown[] = Array.isArray(data) ? data : []
        const ours = found.find((each) => stringOf(each, 'body')?.startsWith(beginning))
        if (ours !== undefined) return read(ours)
        if (found.length < PAGE) break
      }
      return null
    },
  }
}
