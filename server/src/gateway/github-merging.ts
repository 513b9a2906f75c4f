import { encodePath } from './git-host.ts'
import { type ApiAnswer, type GitHostApi, propertyOf, stringOf } from './git-host-api.ts'
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

/** GitHub's REST API, version 2022-11-28: "Get a pull request", "Merge a pull request". */
export function createGithubMerging(place: MergingPlace, ask: GitHostApi): Merging {
  const { host, path, number } = place
  const address = `/repos/${encodePath(path)}/pulls/${number}`
  const check = (answer: ApiAnswer, expected?: number[]) =>
    checkAnswer(place, 'the permissions “Contents: write” and “Pull requests: write”', answer, expected)

  return {
    async read() {
      const { data } = check(await ask('GET', address))
      const head_commit = commitOf(propertyOf(data, 'head'), 'sha')
      const base = lineOf(propertyOf(data, 'base'), 'ref')
      const said = stringOf(data, 'state')
      if (head_commit === null || base === '' || (said !== 'open' && said !== 'closed')) throw strange(place)
      const state = propertyOf(data, 'merged') === true ? 'merged' : said
      return stateOf(data, { state, base, head_commit }, judge)
    },
    async merge(merge_method, sha) {
      const answer = await ask('PUT', `${address}/merge`, { body: { merge_method, sha } })
      const { status, said, data } = check(answer, [405, 409, 422])
      if (status >= 400) throw refuseMerge(host, said)
      if (propertyOf(data, 'merged') !== true) throw strange(place)
    },
  }
}

/**
 * The REST API says a boolean; the states beside it are those of "MergeStateStatus" in GitHub's GraphQL API. A token of an
 * administrator can merge what is blocked, so that the boolean alone allows nothing.
 */
function judge(data: unknown, base: string): Pick<PullState, 'mergeable' | 'note'> {
  const said = propertyOf(data, 'mergeable')
  const mergeable = typeof said === 'boolean' ? said : null
  const standing = stringOf(data, 'mergeable_state') ?? 'unknown'
  if (standing === 'dirty') return { mergeable: false, note: `It has conflicts with ${base}.` }
  if (standing === 'draft' || isDraft(data)) return DRAFT
  switch (standing) {
    case 'clean':
    case 'has_hooks':
      return { mergeable, note: null }
    case 'unstable':
      return { mergeable, note: 'Checks that are not required have not passed.' }
    case 'unknown':
      return { mergeable: mergeable && null, note: null }
    case 'blocked':
      return { mergeable: false, note: `${base} requires checks or reviews that are missing.` }
    case 'behind':
      return { mergeable: false, note: `It is behind ${base}, which wants to be merged into it first.` }
    default:
      return inWordsOf('GitHub', standing)
  }
}
