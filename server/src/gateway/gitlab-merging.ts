import { type ApiAnswer, type GitHostApi, GitHostFailure, stringOf } from './git-host-api.ts'
import {
  commitOf,
  DRAFT,
  inWordsOf,
  isDraft,
  lineOf,
  type Merging,
  type MergingPlace,
  type PullState,
  refuseMerge,
  stateOf,
} from './merging.ts'
import { checkAnswer, strange } from './pulls.ts'

/** GitLab's REST API, version 4: "Get single MR", "Merge a merge request". */
export function createGitlabMerging(place: MergingPlace, ask: GitHostApi): Merging {
  const { host, path, number } = place
  const address = `/projects/${encodeURIComponent(path)}/merge_requests/${number}`
  const check = (answer: ApiAnswer, expected?: number[]) =>
    checkAnswer(place, 'the role “Developer” and the scope “api”', answer, expected)

  return {
    async read() {
      const { data } = check(await ask('GET', address))
      const [head_commit, base] = [commitOf(data, 'sha'), lineOf(data, 'target_branch')]
      const state = STATES.get(stringOf(data, 'state') ?? '')
      if (head_commit === null || base === '' || state === undefined) throw strange(place)
      return stateOf(data, { state, base, head_commit }, judge)
    },
    async merge(method, sha) {
      if (method === 'rebase')
        throw new GitHostFailure(
          'other',
          `GitLab rebases where the project says so: let the environment's merge_method be merge or squash.`,
        )
      const answer = await ask('PUT', `${address}/merge`, { body: { sha, squash: method === 'squash' } })
      // 401: this user may not merge there.
      const { status, said, data } = check(answer, [401, 405, 406, 409, 422])
      if (status >= 400) throw refuseMerge(host, said)
      const state = STATES.get(stringOf(data, 'state') ?? '')
      if (state === undefined) throw strange(place)
      // What went wrong after its checks it says in a success.
      const why = lineOf(data, 'merge_error')
      if (state !== 'merged') throw refuseMerge(host, why && `: “${why}”`)
    },
  }
}

/** While GitLab merges one it is `locked`. */
const STATES = new Map<string, PullState['state']>([
  ['opened', 'open'],
  ['locked', 'open'],
  ['merged', 'merged'],
  ['closed', 'closed'],
])

/** `detailed_merge_status` ("Merge status"), and of GitLab before 15.6 what there was. */
function judge(data: unknown, base: string): Pick<PullState, 'mergeable' | 'note'> {
  if (stringOf(data, 'state') === 'locked') return { mergeable: null, note: 'GitLab is merging it.' }
  const status = stringOf(data, 'detailed_merge_status') ?? stringOf(data, 'merge_status') ?? 'checking'
  switch (status) {
    case 'mergeable':
    case 'can_be_merged':
      // GitLab before 15.6 says so of drafts as well.
      return isDraft(data) ? DRAFT : { mergeable: true, note: null }
    case 'checking':
    case 'unchecked':
    case 'preparing':
    case 'approvals_syncing':
    case 'cannot_be_merged_recheck':
      return { mergeable: null, note: null }
    case 'conflict':
    case 'cannot_be_merged':
      return { mergeable: false, note: `It has conflicts with ${base}.` }
    case 'need_rebase':
      return { mergeable: false, note: `It is behind ${base}, which wants it to be rebased.` }
    case 'draft_status':
      return DRAFT
    case 'ci_must_pass':
      return { mergeable: false, note: 'A pipeline must pass first.' }
    case 'ci_still_running':
      return { mergeable: false, note: 'A pipeline is still at work.' }
    case 'not_approved':
      return { mergeable: false, note: 'It needs approvals.' }
    case 'discussions_not_resolved':
      return { mergeable: false, note: 'All threads must be resolved first.' }
    default:
      return inWordsOf('GitLab', status)
  }
}
