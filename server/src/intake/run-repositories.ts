import { isDeepStrictEqual } from 'node:util'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { findFolderConflict } from '../contract/environment-repositories.ts'
import { AppError } from '../contract/error.ts'

/** Whether this installation may open a repository of its own machine at this path. */
export type MayOpen = (local_path: string) => boolean

/**
 * Throws where a run names repositories that it cannot have. An environment decides what its credentials for git reach, so nobody
 * adds a repository to one from outside.
 */
export function requireRepositories(
  { repositories = [], environment_id }: AmbientAgentConfig = {},
  mayOpen: MayOpen = () => true,
): void {
  if (repositories.length === 0) return
  if (environment_id !== undefined)
    throw invalid(
      '',
      'the environment names the repositories of its runs. Leave out either config.repositories or the environment, which an identity may bring.',
    )
  const elsewhere = repositories.findIndex(
    ({ local_path }) => local_path !== undefined && !mayOpen(local_path),
  )
  if (elsewhere >= 0)
    throw invalid(
      `.${elsewhere}.local_path`,
      'lies outside of RUNYARD_LOCAL_REPOS, the folder whose repositories this installation opens, or in its data directory.',
    )
  const conflict = findFolderConflict(repositories)
  if (conflict) throw invalid(`.${conflict.place}`, `${conflict.message}.`)
}

/** Throws where other repositories are asked for than those of the run that this one belongs to. */
export function requireSameRepositories(
  asked: AmbientAgentConfig,
  before: AmbientAgentConfig,
  why: string,
): void {
  const { repositories } = asked
  if (repositories === undefined || isDeepStrictEqual(repositories, before.repositories ?? [])) return
  throw invalid('', why)
}

const invalid = (field: string, why: string): AppError =>
  new AppError('invalid_request', `config.repositories${field}: ${why}`)
