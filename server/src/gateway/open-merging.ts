import { type GitHostApi, openGitHostApi } from './git-host-api.ts'
import { createGithubMerging } from './github-merging.ts'
import { createGitlabMerging } from './gitlab-merging.ts'
import type { Merging, MergingPlace } from './merging.ts'

export function openMerging(place: MergingPlace): Merging {
  const create: (place: MergingPlace, ask: GitHostApi) => Merging =
    place.kind === 'github' ? createGithubMerging : createGitlabMerging
  return create(place, openGitHostApi(place))
}
