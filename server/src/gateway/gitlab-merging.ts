import { type ApiAnswer, type GitHostApi, GitHostFailure, propertyOf, stringOf } from './git-host-api.ts'
import { lineOf, type Merging, type MergingPlace, type PullState, refuseMerge, timeOf } from './merging.ts'
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
      const [head_commit, base] = [stringOf(data, 'sha'), lineOf(data, 'target_branch')]
      if (head_commit === null || base === '') throw strange(place)
      const said = stringOf(data, 'state')
      const state = said === 'merged' ? 'merged' : said === 'closed' ? 'closed' : 'open'
      return {
        ...{ state, base, head_commit, title: lineOf(data, 'title') },
        is_draft: propertyOf(data, 'draft') === true,
        merged_at: timeOf(data, 'merged_at'),
        ...(state === 'open' ? judge(data, base) : { mergeable: null, note: null }),
      }
    },
    async merge(method, sha) {
      if (method === 'rebase')
        throw new GitHostFailure(
          'other',
          `GitLab rebases where the project says so: let the environment's merge_method be merge or squash.`,
        )
      const answer = await ask('PUT', `${address}/merge`, { body: { sha, squash: method === 'squash' } })
      // 401: this user may not merge there.
      const { status, said } = check(answer, [401, 405, 406, 409, 422])
      if (status >= 400) throw refuseMerge(host, said)
    },
  }
}

/** `detailed_merge_status` ("Merge status"), and of GitLab before 15.6 what there was. */
function judge(data: unknown, base: string): Pick<PullState, 'mergeable' | 'note'> {
  const status = stringOf(data, 'detailed_merge_status') ?? stringOf(data, 'merge_status') ?? 'checking'
  switch (status) {
    case 'mergeable':
    case 'can_be_merged':
      return { mergeable: true, note: null }
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
      return { mergeable: false, note: 'It is a draft.' }
    case 'ci_must_pass':
      return { mergeable: false, note: 'A pipeline must pass first.' }
    case 'ci_still_running':
      return { mergeable: false, note: 'A pipeline is still at work.' }
    case 'not_approved':
      return { mergeable: false, note: 'It needs approvals.' }
    case 'discussions_not_resolved':
      return { mergeable: false, note: 'All threads must be resolved first.' }
    default:
      return { mergeable: false, note: `GitLab says: ${lineOf({ status }, 'status').replaceAll('_', ' ')}.` }
  }
}
