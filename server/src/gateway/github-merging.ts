import { encodePath } from './git-host.ts'
import { type ApiAnswer, type GitHostApi, propertyOf, stringOf } from './git-host-api.ts'
import { lineOf, type Merging, type MergingPlace, type PullState, refuseMerge, timeOf } from './merging.ts'
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
      const head_commit = stringOf(propertyOf(data, 'head'), 'sha')
      const base = lineOf(propertyOf(data, 'base'), 'ref')
      if (head_commit === null || base === '') throw strange(place)
      const state =
        propertyOf(data, 'merged') === true
          ? 'merged'
          : stringOf(data, 'state') === 'open'
            ? 'open'
            : 'closed'
      return {
        ...{ state, base, head_commit, title: lineOf(data, 'title') },
        is_draft: propertyOf(data, 'draft') === true,
        merged_at: timeOf(data, 'merged_at'),
        ...(state === 'open' ? judge(data, base) : { mergeable: null, note: null }),
      }
    },
    async merge(merge_method, sha) {
      const answer = await ask('PUT', `${address}/merge`, { body: { merge_method, sha } })
      const { status, said } = check(answer, [405, 409, 422])
      if (status >= 400) throw refuseMerge(host, said)
    },
  }
}

/** The REST API says a boolean; the states beside it are those of "MergeStateStatus" in GitHub's GraphQL API. */
function judge(data: unknown, base: string): Pick<PullState, 'mergeable' | 'note'> {
  const mergeable = propertyOf(data, 'mergeable')
  switch (stringOf(data, 'mergeable_state')) {
    case 'dirty':
      return { mergeable: false, note: `It has conflicts with ${base}.` }
    case 'blocked':
      // A token of an administrator could merge it all the same.
      return { mergeable: false, note: `${base} requires checks or reviews that are missing.` }
    case 'behind':
      return { mergeable: false, note: `It is behind ${base}, which wants to be merged into it first.` }
    case 'draft':
      return { mergeable: false, note: 'It is a draft.' }
    case 'unstable':
      return { mergeable: true, note: 'Checks that are not required have not passed.' }
    default:
      return { mergeable: typeof mergeable === 'boolean' ? mergeable : null, note: null }
  }
}
