import { type FailureKind, GitHostFailure, openGitHostApi } from './git-host-api.ts'
import { createGithubPulls } from './github-pulls.ts'
import { createGitlabPulls } from './gitlab-pulls.ts'
import type { PullRequest, PullRequestWish, Pulls } from './pulls.ts'

export interface PullRequestFailure {
  failure: FailureKind
  /** For whoever wanted it; without tokens, and with at most 300 characters of what the host said. */
  message: string
}

/** Opens a pull request (GitLab: merge request) from a branch that was pushed, or finds the one that is open. */
export const openPullRequest = (wish: PullRequestWish): Promise<PullRequest | PullRequestFailure> =>
  askHost(wish, (pulls) => openBy(pulls, wish))

/** Finds the one that is open from a branch into the base that one would be opened for; `null`: there is none. */
export const findPullRequest = (wish: PullRequestWish): Promise<PullRequest | PullRequestFailure | null> =>
  askHost(wish, async (pulls) => {
    const open = await pulls.findOpen()
    if (open.length === 0) return null
    const wanted = await chooseBase(pulls, wish.base)
    const found = open.find(({ base }) => base === wanted)
    return found ? { ...found, created: false } : null
  })

async function askHost<Answer>(
  wish: PullRequestWish,
  ask: (pulls: Pulls) => Promise<Answer>,
): Promise<Answer | PullRequestFailure> {
  const pulls = wish.kind === 'github' ? createGithubPulls : createGitlabPulls
  try {
    return await ask(pulls(wish, openGitHostApi(wish)))
  } catch (error) {
    if (error instanceof GitHostFailure) return { failure: error.failure, message: error.message }
    throw error
  }
}

async function openBy(pulls: Pulls, { base: wanted, ...wish }: PullRequestWish): Promise<PullRequest> {
  const find = async () => {
    const open = await pulls.findOpen()
    return open.find(({ base }) => base === wanted) ?? open[0] ?? null
  }
  const known = await find()
  if (known) return { ...known, created: false }
  const base = await chooseBase(pulls, wanted)
  if (base === null)
    throw new GitHostFailure('not_found', `${wish.path} on ${wish.host} has no branch to merge into.`)
  const created = await pulls.create(base)
  if (created) return { ...created, created: true }
  // Somebody was quicker, or our own first try did more than its answer said.
  const other = await find()
  if (other) return { ...other, created: false }
  throw new GitHostFailure('other', `${wish.host} says that a pull request is open, and does not show it.`)
}

const chooseBase = async (pulls: Pulls, wanted: string | null): Promise<string | null> =>
  wanted !== null && (await pulls.hasBranch(wanted)) ? wanted : pulls.findDefaultBranch()
