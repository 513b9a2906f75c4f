import type { BranchAnswer, BranchRequest } from '../gateway/gateway.ts'
import type { Push, PushedPull } from '../store/pushes.ts'

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
