/** What of GitHub's API Runyard uses. Statuses, messages and shapes as documented for version 2022-11-28. */
import { randomBytes, verify } from 'node:crypto'
import { git } from './git.ts'
import { answerComments } from './git-hosts-comments.ts'
import {
  type Answer,
  bearerOf,
  branchesOf,
  conflicts,
  defaultBranchOf,
  findGrant,
  findRepository,
  type GitHostRequest,
  type GitHostState,
  type Grant,
  type HostedPull,
  headOf,
  listReachable,
  mayReach,
  mergeBranches,
} from './hosted-repositories.ts'

const NOT_FOUND: Answer = { status: 404, body: { message: 'Not Found', status: '404' } }

export function answerGithub(state: GitHostState, url: URL, request: GitHostRequest): Answer {
  const token = /^\/app\/installations\/([^/]+)\/access_tokens$/.exec(url.pathname)
  if (token && request.method === 'POST') return makeToken(state, request, token[1] ?? '')
  const grant = findGrant(state, bearerOf(request))
  if (!grant) return { status: 401, body: { message: 'Bad credentials', status: '401' } }
  const lists = /^\/(user\/repos|installation\/repositories)$/.exec(url.pathname)?.[1]
  if (lists) {
    const is_app = lists !== 'user/repos'
    const account = is_app ? `${state.options.app?.account}/` : ''
    const repositories = listReachable(state, grant)
      .filter((path) => path.startsWith(account))
      .map((full_name) => ({
        ...{ full_name, private: true },
        default_branch: defaultBranchOf(findRepository(state, full_name) ?? ''),
      }))
    return { status: 200, body: is_app ? { total_count: repositories.length, repositories } : repositories }
  }
  const [, path = '', rest = ''] = /^\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(url.pathname) ?? []
  const folder = mayReach(grant, path) ? findRepository(state, path) : null
  if (!folder) return NOT_FOUND
  if (rest === '') {
    const default_branch = defaultBranchOf(folder)
    return { status: 200, body: { full_name: path, default_branch, private: true } }
  }
  if (rest === '/branches') return { status: 200, body: branchesOf(folder).map((name) => ({ name })) }
  const prefix = /^\/git\/matching-refs\/heads\/(.*)$/.exec(rest)?.[1]
  if (prefix !== undefined) {
    const names = branchesOf(folder, decodeURIComponent(prefix))
    return { status: 200, body: names.map((name) => ({ ref: `refs/heads/${name}` })) }
  }
  const branch = /^\/branches\/(.+)$/.exec(rest)?.[1]
  if (branch) {
    const name = decodeURIComponent(branch)
    const sha = headOf(folder, name)
    return sha
      ? { status: 200, body: { name, commit: { sha } } }
      : { status: 404, body: { message: 'Branch not found' } }
  }
  const comments = answerComments(state, { path, rest, url, request })
  if (comments) return comments
  if (!/^\/pulls(\/|$)/.test(rest)) return NOT_FOUND
  if (grant.pull_requests === 'none')
    return { status: 403, body: { message: 'Resource not accessible by integration', status: '403' } }
  const describe = (pull: HostedPull) => describePull(state, pull)
  if (rest !== '/pulls') return answerPull(state, { path, folder, rest }, grant, request)
  if (request.method === 'GET') {
    const [owner, head] = (url.searchParams.get('head') ?? '').split(/:(.*)/)
    const found = state.pulls.filter(
      (pull) => pull.repository === path && pull.open && path.startsWith(`${owner}/`) && pull.head === head,
    )
    return { status: 200, body: found.reverse().map(describe) }
  }
  return createPull(state, { path, folder, body: request.body })
}

function createPull(
  state: GitHostState,
  { path, folder, body }: { path: string; folder: string; body: string },
): Answer {
  const asked = JSON.parse(body) as {
    [field in 'title' | 'body' | 'head' | 'base']?: string
  } & { draft?: boolean }
  const { title = '', head = '', base = '', draft = false } = asked
  const invalid = (error: object): Answer => ({
    status: 422,
    body: {
      message: 'Validation Failed',
      errors: [{ resource: 'PullRequest', ...error }],
      documentation_url: 'https://docs.github.com/rest/pulls/pulls#create-a-pull-request',
      status: '422',
    },
  })
  const [from, to] = [headOf(folder, head), headOf(folder, base)]
  if (!from) return invalid({ field: 'head', code: 'invalid' })
  if (!to) return invalid({ field: 'base', code: 'invalid' })
  const known = state.pulls.some(
    (pull) => pull.repository === path && pull.open && pull.head === head && pull.base === base,
  )
  const owner = path.split('/')[0]
  if (known)
    return invalid({ code: 'custom', message: `A pull request already exists for ${owner}:${head}.` })
  if (git(folder, 'rev-list', '--count', `${to}..${from}`) === '0')
    return invalid({ code: 'custom', message: `No commits between ${base} and ${head}` })
  const number = state.pulls.length + 1
  const pull = {
    ...{ repository: path, number, title, body: asked.body ?? '', head, base, draft },
    open: true,
  }
  state.pulls.push(pull)
  return { status: 201, body: describePull(state, pull) }
}

const standingOf = (folder: string, pull: HostedPull): string =>
  pull.standing ?? (pull.draft ? 'draft' : conflicts(folder, pull) ? 'dirty' : 'clean')

/** Of one of them. */
function answerPull(
  state: GitHostState,
  { path, folder, rest }: { path: string; folder: string; rest: string },
  { contents }: Grant,
  { method, body }: GitHostRequest,
): Answer {
  const [, number, merges] = /^\/pulls\/(\d+)(\/merge)?$/.exec(rest) ?? []
  const pull = state.pulls.find((each) => each.repository === path && each.number === Number(number))
  if (!pull) return NOT_FOUND
  if (!merges) return { status: 200, body: showPull(state, folder, pull) }
  return contents === 'write' && method === 'PUT'
    ? mergePull(state, folder, pull, body)
    : { status: 403, body: { message: 'Resource not accessible by integration', status: '403' } }
}

/** "Get a pull request" says more than the list. */
function showPull(state: GitHostState, folder: string, pull: HostedPull): object {
  const standing = standingOf(folder, pull)
  const { head, base, ...shown } = describePull(state, pull)
  return {
    ...shown,
    head: { ...head, sha: headOf(folder, pull.head) },
    base: { ...base, sha: headOf(folder, pull.base) },
    ...{ merged: pull.merged_at !== undefined, merged_at: pull.merged_at ?? null },
    ...{ mergeable: standing === 'unknown' ? null : standing !== 'dirty', mergeable_state: standing },
  }
}

/** "Merge a pull request". */
function mergePull(state: GitHostState, folder: string, pull: HostedPull, body: string): Answer {
  const { merge_method = 'merge', sha } = JSON.parse(body) as { merge_method?: string; sha?: string }
  const refuse = (status: number, message: string): Answer => ({
    status,
    body: { message, status: `${status}` },
  })
  if (!pull.open || !['clean', 'unstable', 'unknown'].includes(standingOf(folder, pull)))
    return refuse(405, 'Pull Request is not mergeable')
  if (sha !== headOf(folder, pull.head))
    return refuse(409, 'Head branch was modified. Review and try the merge again.')
  const merged = mergeBranches(folder, pull, merge_method)
  Object.assign(pull, { open: false, merged_at: new Date(state.now()).toISOString() })
  return { status: 200, body: { sha: merged, merged: true, message: 'Pull Request successfully merged' } }
}

const describePull = ({ url }: GitHostState, pull: HostedPull) => ({
  number: pull.number,
  state: pull.open ? 'open' : 'closed',
  html_url: `${url}/${pull.repository}/pull/${pull.number}`,
  ...{ title: pull.title, body: pull.body, draft: pull.draft },
  head: { ref: pull.head, repo: { full_name: pull.repository } },
  base: { ref: pull.base, repo: { full_name: pull.repository } },
})

/** "Create an installation access token for an app"; who asks signs as "Generating a JSON Web Token (JWT)" says. */
function makeToken(state: GitHostState, request: GitHostRequest, installation: string): Answer {
  const { app } = state.options
  const wrong = app ? judgeJwt(bearerOf(request), app, state.now() / 1_000) : 'Integration not found'
  if (!app || wrong) return { status: 401, body: { message: wrong, status: '401' } }
  if (installation !== app.installation_id) return NOT_FOUND
  const { repositories = [], permissions = {} } = JSON.parse(request.body) as {
    repositories?: string[]
    permissions?: Record<string, 'read' | 'write'>
  }
  const granted: Record<string, string> = app.permissions ?? { contents: 'write', pull_requests: 'write' }
  // Every App has it.
  granted.metadata ??= 'read'
  const lacking = Object.entries(permissions).some(
    ([name, level]) => granted[name] !== 'write' && granted[name] !== level,
  )
  const invalid = (message: string): Answer => ({ status: 422, body: { message, status: '422' } })
  if (lacking) return invalid('The permissions requested are not granted to this installation.')
  if (app.repositories && repositories.some((name) => !app.repositories?.includes(name)))
    return invalid(
      'There is at least one repository that does not exist or is not accessible to the parent installation.',
    )
  const token = `ghs_${randomBytes(18).toString('hex')}`
  const expires_at = state.now() + 3_600_000
  state.grants.set(token, {
    contents: permissions.contents ?? 'read',
    pull_requests: permissions.pull_requests === 'write' ? 'write' : 'none',
    expires_at,
    ...(repositories.length > 0
      ? { repositories: repositories.map((name) => `${app.account}/${name}`.toLowerCase()) }
      : {}),
  } satisfies Grant)
  return { status: 201, body: { token, expires_at: new Date(expires_at).toISOString(), permissions } }
}

function judgeJwt(jwt: string, app: { app_id: string; public_key: string }, now: number): string | null {
  const [header = '', payload = '', signature = ''] = jwt.split('.')
  const signed = Buffer.from(`${header}.${payload}`)
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as unknown
  try {
    const { alg } = read(header) as { alg?: string }
    const { iss, iat, exp } = read(payload) as { iss?: string | number; iat?: number; exp?: number }
    if (alg !== 'RS256' || !verify('RSA-SHA256', signed, app.public_key, Buffer.from(signature, 'base64url')))
      return 'A JSON web token could not be decoded'
    if (String(iss) !== app.app_id) return 'Integration not found'
    if (!Number.isInteger(iat) || (iat ?? 0) > now)
      return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
    if (!Number.isInteger(exp) || (exp ?? 0) <= now)
      return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
    return (exp ?? 0) > now + 600 ? "'Expiration time' claim ('exp') is too far in the future" : null
  } catch {
    return 'A JSON web token could not be decoded'
  }
}
