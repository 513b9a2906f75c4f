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

/** GitLab's REST API, version 4: "Merge requests", "Branches", "Repositories", "Projects". */
export function createGitlabPulls(wish: PullRequestWish, ask: GitHostApi): Pulls {
  const { host, path, branch } = wish
  const project = `/projects/${encodeURIComponent(path)}`

  const check = (answer: ApiAnswer, expected?: number[]) =>
    checkAnswer(wish, 'the role “Developer” and the scope “api”', answer, expected)
  const read = (data: unknown): Omit<PullRequest, 'created'> => {
    const [url, number] = [stringOf(data, 'web_url'), propertyOf(data, 'iid')]
    const base = stringOf(data, 'target_branch')
    if (!isPage(url) || typeof number !== 'number' || base === null) throw strange(wish)
    return { url, number, base }
  }
  const isOurs = (data: unknown): boolean =>
    stringOf(data, 'source_branch') === branch &&
    propertyOf(data, 'source_project_id') === propertyOf(data, 'target_project_id')
  /** The commit of a branch; `null` where there is none of the name. */
  const findHead = async (name: string): Promise<string | null> => {
    const url = `${project}/repository/branches/${encodeURIComponent(name)}`
    const { status, data } = check(await ask('GET', url), [404])
    if (status === 404) return null
    const id = stringOf(propertyOf(data, 'commit'), 'id')
    if (id === null) throw strange(wish)
    return id
  }
  /** GitLab opens merge requests that change nothing. */
  const checkDifference = async (base: string): Promise<void> => {
    const head = await findHead(branch)
    if (head === null) throw new GitHostFailure('not_found', `${path} on ${host} has no branch ${branch}.`)
    const query = new URLSearchParams([
      ['refs[]', base],
      ['refs[]', head],
    ])
    // 404: they have no commit in common.
    const { status, data } = check(await ask('GET', `${project}/repository/merge_base?${query}`), [404])
    const common = stringOf(data, 'id')
    if (status !== 404 && common === null) throw strange(wish)
    if (common === head)
      throw new GitHostFailure('no_difference', `${branch} has no commit that ${base} has not.`)
  }

  return {
    async findOpen() {
      const query = { state: 'opened', source_branch: branch, per_page: '5' }
      const { data } = check(await ask('GET', `${project}/merge_requests`, { query }))
      if (!Array.isArray(data)) throw strange(wish)
      return data.filter(isOurs).map(read)
    },
    hasBranch: async (name) => (await findHead(name)) !== null,
    async findDefaultBranch() {
      return readDefaultBranch(wish, check(await ask('GET', project)))
    },
    async create(base) {
      await checkDifference(base)
      const answer = await ask('POST', `${project}/merge_requests`, {
        body: {
          ...{ source_branch: branch, target_branch: base, description: wish.body },
          // The documented way to say so (GitLab, "Draft merge requests").
          title: wish.draft ? `Draft: ${wish.title}` : wish.title,
        },
      })
      return answer.status === 409 ? null : read(check(answer).data)
    },
  }
}
