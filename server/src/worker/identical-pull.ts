import { setTimeout as wait } from 'node:timers/promises'
import type { BranchAnswer, BranchRequest } from '../gateway/gateway.ts'
import type { Files, Push, PushedPull } from '../store/pushes.ts'
import type { FencedStore } from './fenced-store.ts'

/** Asks the host about a branch of the repository. */
export type Publish = (
  branch: string,
  request: Pick<BranchRequest, 'commit' | 'pull_request'>,
) => Promise<BranchAnswer>

/**
 * The pull request of another run that is open for the same files into the same branch; `null`: there is none. One that was
 * closed, or to which somebody has pushed since, is none, and neither is one that the host cannot be asked for.
 */
export async function findIdenticalPull(
  pulls: readonly PushedPull[],
  publish: Publish,
  {
    repository,
    directory,
    wanted,
  }: {
    repository: string
    directory: string
    wanted: NonNullable<BranchRequest['pull_request']>
  },
): Promise<Push | null> {
  for (const { branch, commit, pull_request } of pulls) {
    if ('failure' in (await publish(branch, { commit }))) continue
    const found = await publish(branch, { commit, pull_request: { ...wanted, only_open: true } })
    if ('failure' in found || found.pull_request?.url !== pull_request.url) continue
    return { directory, repository, branch, commit, url: pull_request.url, pull_request, is_linked: true }
  }
  return null
}

/** How long another run that pushes the same files is waited for: longer, and its pull request is not waited for. */
const TURN_MS = 60_000
const LOOK_MS = 250

/** Does `work` while no other run looks for the pull request of these files, or opens it. */
export async function inTurn<T>(
  store: FencedStore,
  files: Files,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + TURN_MS
  while (!(await store.takePullTurn(files)) && performance.now() < deadline && !signal.aborted)
    await wait(LOOK_MS, undefined, { signal }).catch(() => {})
  try {
    return await work()
  } finally {
    await store.endPullTurn(files)
  }
}
