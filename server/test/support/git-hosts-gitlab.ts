/** What of GitLab's API Runyard uses. Statuses, messages and shapes as documented for version 4. */
import { git } from './git.ts'
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

const PROJECT_ID = 7

const listProjects = (state: GitHostState, grant: Grant): Answer => ({
  status: 200,
  body: listReachable(state, grant).map((path_with_namespace) => ({
    path_with_namespace,
    default_branch: defaultBranchOf(findRepository(state, path_with_namespace) ?? ''),
  })),
})

function answerBranches(url: URL, folder: string, encoded: string | undefined): Answer {
  if (encoded === undefined) {
    const prefix = url.searchParams.get('search')?.replace(/^\^/, '')
    return { status: 200, body: branchesOf(folder, prefix).map((name) => ({ name })) }
  }
  const name = decodeURIComponent(encoded)
  const commit = headOf(folder, name)
  return commit
    ? { status: 200, body: { name, commit: { id: commit } } }
    : { status: 404, body: { message: '404 Branch Not Found' } }
}

export function answerGitlab(state: GitHostState, url: URL, request: GitHostRequest): Answer {
  const grant = findGrant(state, bearerOf(request))
  if (!grant) return { status: 401, body: { message: '401 Unauthorized' } }
  if (url.pathname === '/projects') return listProjects(state, grant)
  const [, id = '', rest = ''] = /^\/projects\/([^/]+)(\/.*)?$/.exec(url.pathname) ?? []
  const path = decodeURIComponent(id)
  const folder = mayReach(grant, path) ? findRepository(state, path) : null
  if (!folder) return { status: 404, body: { message: '404 Project Not Found' } }
  if (rest === '') {
    const default_branch = defaultBranchOf(folder)
    return { status: 200, body: { id: PROJECT_ID, path_with_namespace: path, default_branch } }
  }
  const branch = /^\/repository\/branches(?:\/([^/]+))?$/.exec(rest)
  if (branch) return answerBranches(url, folder, branch[1])
  if (rest === '/repository/merge_base') {
    const refs = url.searchParams.getAll('refs[]').map((ref) => headOf(folder, ref) ?? ref)
    try {
      return { status: 200, body: { id: git(folder, 'merge-base', ...refs) } }
    } catch {
      return { status: 404, body: { message: '404 Merge Base Not Found' } }
    }
  }
  const one = /^\/merge_requests\/(\d+)(\/merge)?$/.exec(rest)
  const shown = one && state.pulls.find((each) => each.repository === path && each.number === Number(one[1]))
  if (shown && !one[2]) return { status: 200, body: showPull(state, folder, shown) }
  if (shown && request.method === 'PUT') {
    if (grant.contents !== 'write') return { status: 401, body: { message: '401 Unauthorized' } }
    return mergePull(state, folder, shown, request.body)
  }
  if (rest !== '/merge_requests') return { status: 404, body: { error: '404 Not Found' } }
  const describe = (pull: HostedPull) => describePull(state, pull)
  if (request.method === 'GET') {
    const head = url.searchParams.get('source_branch')
    const found = state.pulls.filter((pull) => pull.repository === path && pull.open && pull.head === head)
    return { status: 200, body: found.reverse().map(describe) }
  }
  if (grant.pull_requests === 'none') {
    const error_description = 'The request requires higher privileges than provided by the access token.'
    return { status: 403, body: { error: 'insufficient_scope', error_description, scope: 'api' } }
  }
  const asked = JSON.parse(request.body) as Record<string, string | undefined>
  const { title = '', description = '', source_branch: head = '', target_branch: base = '' } = asked
  if (head === base)
    return { status: 422, body: { message: ["You can't use same project/branch for source and target"] } }
  if (!headOf(folder, head)) return { status: 400, body: { message: { source_branch: ['does not exist'] } } }
  const known = state.pulls.find(
    (pull) => pull.repository === path && pull.open && pull.head === head && pull.base === base,
  )
  const message = [`Another open merge request already exists for this source branch: !${known?.number}`]
  if (known) return { status: 409, body: { message } }
  const draft = title.startsWith('Draft: ')
  const number = state.pulls.length + 1
  const pull = { ...{ repository: path, number, title, body: description, head, base, draft }, open: true }
  state.pulls.push(pull)
  return { status: 201, body: describe(pull) }
}

const standingOf = (folder: string, pull: HostedPull): string =>
  pull.standing ?? (pull.draft ? 'draft_status' : conflicts(folder, pull) ? 'conflict' : 'mergeable')

/** "Get single MR". */
const showPull = (state: GitHostState, folder: string, pull: HostedPull): object => ({
  ...describePull(state, pull),
  ...{ sha: headOf(folder, pull.head), merged_at: pull.merged_at ?? null },
  state: pull.merged_at ? 'merged' : pull.open ? 'opened' : 'closed',
  detailed_merge_status: pull.open ? standingOf(folder, pull) : 'not_open',
})

/** "Merge a merge request". */
function mergePull(state: GitHostState, folder: string, pull: HostedPull, body: string): Answer {
  const { squash = false, sha } = JSON.parse(body) as { squash?: boolean; sha?: string }
  if (!pull.open || !['mergeable', 'unchecked'].includes(standingOf(folder, pull)))
    return { status: 405, body: { message: '405 Method Not Allowed' } }
  if (sha !== headOf(folder, pull.head))
    return { status: 409, body: { message: 'SHA does not match HEAD of source branch' } }
  mergeBranches(folder, pull, squash ? 'squash' : 'merge')
  Object.assign(pull, { open: false, merged_at: new Date(state.now()).toISOString() })
  return { status: 200, body: showPull(state, folder, pull) }
}

const describePull = ({ url }: GitHostState, pull: HostedPull) => ({
  ...{ id: 1_000 + pull.number, iid: pull.number, project_id: PROJECT_ID },
  ...{ source_project_id: PROJECT_ID, target_project_id: PROJECT_ID },
  ...{ title: pull.title, description: pull.body, draft: pull.draft },
  ...{ source_branch: pull.head, target_branch: pull.base, state: pull.open ? 'opened' : 'closed' },
  web_url: `${url}/${pull.repository}/-/merge_requests/${pull.number}`,
})
