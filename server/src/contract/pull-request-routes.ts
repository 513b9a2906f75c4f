import { z } from 'zod'
import { ListPullRequestsResponse, MergePullRequestRequest, PullRequestItem } from './pull-request.ts'
import { define, reading, writing } from './route.ts'

const RunParams = z.object({ run_id: z.string().meta({ description: 'Id of the run.' }) })

/** What a run asks to be merged: a part of ROUTES. */
export const PULL_REQUEST_ROUTES = {
  listPullRequests: define({
    method: 'GET',
    path: '/agent/runs/{run_id}/pull-requests',
    summary: 'List the pull requests of a run',
    description:
      'Those that it opened, on GitHub and GitLab (there: merge requests), as they stand at their hosts now; what was found out is used for ten seconds. ' +
      'A host that cannot be asked makes their `state` `unknown`.',
    tag: 'Runs',
    params: RunParams,
    status: 200,
    response: ListPullRequestsResponse,
    errors: reading,
  }),
  mergePullRequest: define({
    method: 'POST',
    path: '/agent/runs/{run_id}/merge',
    summary: 'Merge a pull request of a run',
    description:
      'Merges it by the `merge_method` of the environment, which allows it so. For whoever may go on with the run. ' +
      'Nothing is merged that the host would not merge for everybody: required checks and reviews, conflicts, drafts. One that is merged already is no error. Its branch stays, unless its host deletes branches that are merged.',
    tag: 'Runs',
    params: RunParams,
    body: MergePullRequestRequest,
    status: 200,
    response: PullRequestItem,
    errors: [...writing, 'integration_not_configured', 'feature_not_available'],
  }),
} as const
