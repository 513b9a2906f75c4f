import {
  ListBranchesQuery,
  ListBranchesResponse,
  ListRepositoriesQuery,
  ListRepositoriesResponse,
} from './repository.ts'
import { define, type RouteDefinition, reading } from './route.ts'

export const REPOSITORY_ROUTES = {
  listRepositories: define({
    method: 'GET',
    path: '/agent/repositories',
    summary: 'List repositories of git hosts',
    description:
      "Those that the caller's git secrets reach at GitHub and GitLab, last used first: secrets of the team that the caller may use, and the caller's own. A host that fails is a note, and no error. Not for viewers.",
    tag: 'Environments',
    query: ListRepositoriesQuery,
    status: 200,
    response: ListRepositoriesResponse,
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
  listBranches: define({
    method: 'GET',
    path: '/agent/repositories/branches',
    summary: 'List the branches of a repository',
    description:
      "Asks its host with the git secret of the caller's that is meant for it. What fails is a note, and no error. Not for viewers.",
    tag: 'Environments',
    query: ListBranchesQuery,
    status: 200,
    response: ListBranchesResponse,
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
} as const satisfies Record<string, RouteDefinition>
