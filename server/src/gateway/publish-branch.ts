import type { CheckedFetch } from './checked-fetch.ts'
import { findCredential } from './git-credential.ts'
import { branchUrl, kindOf } from './git-host.ts'
import { GitHostFailure } from './git-host-api.ts'
import type { GitRules } from './git-rules.ts'
import type { GitTokens } from './git-tokens.ts'
import { openPullRequest } from './pull-requests.ts'

/** A branch that was pushed, to be shown or merged. */
export interface BranchRequest {
  host: string
  /** Of the repository, as in `acme/site`. */
  path: string
  branch: string
  /** Absent: only where the branch can be seen is asked for. */
  pull_request?: {
    /** Where there is no branch of this name, and for `null`, it is the default branch. */
    base: string | null
    title: string
    body: string
  }
}

/** `url`: for people, of the pull request or else of the branch. `retryable`: it may go well later, without anybody's doing. */
export type BranchAnswer =
  | { url: string; pull_request?: { number: number; url: string } }
  | { failure: string; retryable: boolean }

interface PublishServices {
  git: GitRules | undefined
  fetch: CheckedFetch
  tokens: GitTokens
}

/** Finds where a branch can be seen, and opens its pull request unless one is open. Never throws. */
export async function publishBranch(
  { host, path, branch, pull_request }: BranchRequest,
  { git, fetch, tokens }: PublishServices,
): Promise<BranchAnswer> {
  const kind = git ? kindOf(host, git.kinds) : null
  const page = kind ? branchUrl(kind, host, path, branch) : `https://${host}/${path}`
  if (!pull_request) return { url: page }
  if (!kind)
    return {
      failure: `What ${host} is, GitHub or GitLab, is said by RUNYARD_GIT_HOSTS; without it no pull request can be opened there.`,
      retryable: false,
    }
  const credential = git && findCredential(git.credentials, host, path)
  if (!credential)
    return { failure: `No secret of the environment gives access to ${host}/${path}.`, retryable: false }
  try {
    const token = await tokens.tokenOf(credential, path)
    const wish = { fetch, kind, host, path, token, credential_name: credential.name, branch, ...pull_request }
    const opened = await openPullRequest(wish)
    if (!('failure' in opened))
      return { url: opened.url, pull_request: { number: opened.number, url: opened.url } }
    return { failure: opened.message, retryable: isPassing(opened.failure) }
  } catch (error) {
    if (error instanceof GitHostFailure)
      return { failure: error.message, retryable: isPassing(error.failure) }
    return { failure: `${host} could not be asked for a pull request.`, retryable: true }
  }
}

const isPassing = (failure: GitHostFailure['failure']): boolean =>
  failure === 'unreachable' || failure === 'limited'
