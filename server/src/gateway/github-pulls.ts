import { encodePath } from './git-host.ts'
import { type ApiAnswer, type GitHostApi, GitHostFailure, propertyOf, stringOf } from './git-host-api.ts'
import {
  checkAnswer,
  isPage,
  type PullRequest,
  type PullRequestWish,
  type Pulls,
  readDefaultBranch,
  strange,
} from './pulls.ts'

/** GitHub's REST API, version 2022-11-28: "Pulls", "Branches", "Repositories". */
export function createGithubPulls(wish: PullRequestWish, ask: GitHostApi): Pulls {
  const { host, path, branch } = wish
  const repository = `/repos/${encodePath(path)}`

  const check = (answer: ApiAnswer, expected?: number[]) =>
    checkAnswer(wish, 'the permission “Pull requests: write”', answer, expected)
  const read = (data: unknown): Omit<PullRequest, 'created'> => {
    const [url, number] = [stringOf(data, 'html_url'), propertyOf(data, 'number')]
    const base = stringOf(propertyOf(data, 'base'), 'ref')
    if (!isPage(url) || typeof number !== 'number' || base === null) throw strange(wish)
    return { url, number, base }
  }
  /** What GitHub takes for a head may be of another repository all the same. */
  const isOurs = (data: unknown): boolean => {
    const head = propertyOf(data, 'head')
    const from = stringOf(propertyOf(head, 'repo'), 'full_name')
    return stringOf(head, 'ref') === branch && from?.toLowerCase() === path.toLowerCase()
  }
  const post = (base: string, draft: boolean) =>
    ask('POST', `${repository}/pulls`, {
      body: { title: wish.title, body: wish.body, head: branch, base, draft },
    })

  return {
    async findOpen() {
      const head = `${path.split('/')[0]}:${branch}`
      const query = { state: 'open', head, per_page: '5' }
      const { data } = check(await ask('GET', `${repository}/pulls`, { query }))
      if (!Array.isArray(data)) throw strange(wish)
      return data.filter(isOurs).map(read)
    },
    async hasBranch(name) {
      // 301: it was renamed.
      const { status, data } = check(
        await ask('GET', `${repository}/branches/${encodePath(name)}`),
        [301, 404],
      )
      if (status === 200 && stringOf(data, 'name') !== name) throw strange(wish)
      return status === 200
    },
    async findDefaultBranch() {
      return readDefaultBranch(wish, check(await ask('GET', repository)))
    },
    async create(base) {
      let answer = await post(base, wish.draft ?? false)
      // Private repositories of some plans have none.
      if (wish.draft && answer.status === 422 && /draft/i.test(answer.said)) answer = await post(base, false)
      if (answer.status !== 422) return read(check(answer).data)
      const { said } = answer
      if (/already exists/i.test(said)) return null
      if (/no commits between/i.test(said))
        throw new GitHostFailure('no_difference', `${branch} has no commit that ${base} has not.`)
      if (isMissingHead(answer.data))
        throw new GitHostFailure('not_found', `${path} on ${host} has no branch ${branch}.`)
      throw new GitHostFailure('other', `${host} takes no such pull request${said}.`)
    },
  }
}

const isMissingHead = (data: unknown): boolean => {
  const errors = propertyOf(data, 'errors')
  return (
    Array.isArray(errors) &&
    errors.some((each) => stringOf(each, 'field') === 'head' && stringOf(each, 'code') === 'invalid')
  )
}
