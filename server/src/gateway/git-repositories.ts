import type { GitHostKind } from './gateway.ts'
import { encodePath } from './git-host.ts'
import { type ApiAnswer, type GitHostApi, GitHostFailure, propertyOf, stringOf } from './git-host-api.ts'

export interface FoundRepository {
  path: string
  is_private: boolean
  default_branch: string | null
}

/** As many as a host gives at once, and how many such pages are looked at. */
const PAGE = 100
const PAGES = 3

/**
 * The repositories that a token reaches, last used first, by the documented lists of GitHub ("List repositories for the authenticated
 * user", "List repositories accessible to the app installation") and GitLab ("List all projects"). Throws `GitHostFailure`.
 */
export async function listRepositories(
  ask: GitHostApi,
  { kind, host, is_app }: { kind: GitHostKind; host: string; is_app: boolean },
): Promise<{ repositories: FoundRepository[]; is_cut: boolean }> {
  const [path, query, name] =
    kind === 'gitlab'
      ? [
          '/projects',
          { membership: 'true', simple: 'true', order_by: 'last_activity_at' },
          'path_with_namespace',
        ]
      : is_app
        ? ['/installation/repositories', {}, 'full_name']
        : ['/user/repos', { sort: 'pushed' }, 'full_name']
  const repositories: FoundRepository[] = []
  for (let page = 1; page <= PAGES; page += 1) {
    const request = { query: { ...query, per_page: String(PAGE), page: String(page) } }
    const { data } = check(host, await ask('GET', path, request))
    const found = is_app ? propertyOf(data, 'repositories') : data
    if (!Array.isArray(found)) throw strange(host)
    for (const each of found) {
      const full = stringOf(each, name)
      if (full === null) throw strange(host)
      repositories.push({
        path: full,
        // GitLab names the visibility only in its long form, and gives what the token alone sees.
        is_private:
          kind === 'github'
            ? propertyOf(each, 'private') === true
            : stringOf(each, 'visibility') !== 'public',
        default_branch: stringOf(each, 'default_branch'),
      })
    }
    if (found.length < PAGE) return { repositories, is_cut: false }
  }
  return { repositories, is_cut: true }
}

/** The branches whose names begin with `prefix`, 100 at most, and the one that counts where none is named. Throws `GitHostFailure`. */
export async function listBranches(
  ask: GitHostApi,
  { kind, host, path, prefix }: { kind: GitHostKind; host: string; path: string; prefix: string },
): Promise<{ default_branch: string | null; branches: string[] }> {
  const of = kind === 'gitlab' ? `/projects/${encodeURIComponent(path)}` : `/repos/${encodePath(path)}`
  const per_page = String(PAGE)
  const list =
    kind === 'gitlab'
      ? ask('GET', `${of}/repository/branches`, {
          query: { per_page, ...(prefix ? { search: `^${prefix}` } : {}) },
        })
      : prefix
        ? ask('GET', `${of}/git/matching-refs/heads/${encodePath(prefix)}`, { query: { per_page } })
        : ask('GET', `${of}/branches`, { query: { per_page } })
  const [repository, branches] = await Promise.all([ask('GET', of), list])
  const { data } = check(host, branches, path)
  if (!Array.isArray(data)) throw strange(host)
  return {
    default_branch: stringOf(check(host, repository, path).data, 'default_branch'),
    branches: data.slice(0, PAGE).map((each) => {
      const name = stringOf(each, 'name') ?? stringOf(each, 'ref')?.replace(/^refs\/heads\//, '')
      if (!name) throw strange(host)
      return name
    }),
  }
}

function check(host: string, answer: ApiAnswer, path?: string): ApiAnswer {
  const { status, said } = answer
  if (status === 200) return answer
  if (status === 401)
    throw new GitHostFailure('refused', `${host} does not take the token. Perhaps it has expired.`)
  if (status === 403) throw new GitHostFailure('refused', `${host} does not let the token read that${said}.`)
  if (status === 404 && path)
    throw new GitHostFailure('not_found', `${host} shows the token no repository ${path}.`)
  throw new GitHostFailure('other', `${host} answered ${status}${said}.`)
}

const strange = (host: string): GitHostFailure =>
  new GitHostFailure('other', `${host} answered with something that its API does not say.`)
