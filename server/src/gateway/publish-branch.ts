import type { CheckedFetch } from './checked-fetch.ts'
import type { BranchAnswer, BranchRequest, GitRules } from './gateway.ts'
import { basicOf, findCredential } from './git-credential.ts'
import { branchUrl, kindOf } from './git-host.ts'
import { GitHostFailure } from './git-host-api.ts'
import { gitPathOf } from './git-rules.ts'
import type { GitTokens } from './git-tokens.ts'
import { findPullRequest, openPullRequest } from './pull-requests.ts'
import { readBranch } from './read-branch.ts'

/** Digits of an id; those of the other kind of repositories have more. */
const SHA1_LENGTH = 40

interface PublishServices {
  git: GitRules | undefined
  fetch: CheckedFetch
  tokens: GitTokens
}

/** Finds where a branch can be seen once it is there, and opens its pull request unless one is open or only an open one was asked for. Never throws. */
export async function publishBranch(
  { host, path, branch, commit, pull_request }: BranchRequest,
  { git, fetch, tokens }: PublishServices,
): Promise<BranchAnswer> {
  const kind = git ? kindOf(host, git.kinds) : null
  const page = kind ? branchUrl(kind, host, path, branch) : `https://${host}/${path}`
  const repository = git?.repositories.find((each) => each.host === host && each.path === path)
  const credential = git && findCredential(git.credentials, host, path)
  if (!repository || !credential)
    return { failure: `No secret of the environment gives access to ${host}/${path}.`, retryable: false }
  try {
    const token = await tokens.tokenOf(credential, path)
    if (!pull_request) {
      const url = `https://${host}${gitPathOf(repository, kind)}`
      const sha256 = commit.length > SHA1_LENGTH
      const authorization = basicOf(credential, token, kind)
      const there = await readBranch(fetch, { url, authorization, branch, sha256 })
      if (there === undefined || there === commit) return { url: page }
      return { failure: `${host}/${path} does not have ${commit} as ${branch}.`, retryable: false }
    }
    if (!kind)
      return {
        failure: `What ${host} is, GitHub or GitLab, is said by RUNYARD_GIT_HOSTS; without it no pull request can be opened there.`,
        retryable: false,
      }
    const { only_open, ...wanted } = pull_request
    const wish = { fetch, kind, host, path, token, credential_name: credential.name, branch, ...wanted }
    const opened = await (only_open ? findPullRequest : openPullRequest)(wish)
    if (opened === null) return { url: page }
    if (!('failure' in opened))
      return { url: opened.url, pull_request: { number: opened.number, url: opened.url } }
    return { failure: opened.message, retryable: isPassing(opened.failure) }
  } catch (error) {
    if (error instanceof GitHostFailure)
      return { failure: error.message, retryable: isPassing(error.failure) }
    return { failure: `${host} could not be asked for ${branch}.`, retryable: true }
  }
}

const isPassing = (failure: GitHostFailure['failure']): boolean =>
  failure === 'unreachable' || failure === 'limited'
