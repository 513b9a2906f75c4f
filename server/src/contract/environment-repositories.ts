import type { EnvironmentRepository } from './environment-repository.ts'
import { decodePercent } from './percent.ts'
import { readRepositoryName } from './repository-address.ts'

/** All repositories of an environment; `github_repos` is the wire format's short form. */
export const repositoriesOf = (config: {
  github_repos?: { owner: string; repo: string }[] | undefined
  repositories?: EnvironmentRepository[] | undefined
}): EnvironmentRepository[] => [
  ...(config.github_repos ?? []).map(({ owner, repo }) => ({
    url: `https://github.com/${owner}/${repo}.git`,
  })),
  ...(config.repositories ?? []),
]

/** `https://github.com/acme/site.git` is acme/site, and so is the repository of a machine at `/srv/acme/site/.git`. */
export function ownerOf({ url, local_path = '' }: EnvironmentRepository): { owner: string; repo: string } {
  const path = (url ? decodePercent(new URL(url).pathname) : local_path)
    .replace(/\/+(\.git\/*)?$/, '')
    .replace(/\.git$/, '')
  const parts = path.split('/').filter(Boolean)
  // Of a repository of a machine, where it lies is nobody's business.
  const owner = url ? parts.slice(0, -1).join('/') : (parts.at(-2) ?? '')
  return { owner: owner || 'local', repo: parts.at(-1) ?? 'repository' }
}

/** The host of its address, with a port perhaps; `null`: it lies on a machine. */
export const hostOf = ({ url }: EnvironmentRepository): string | null =>
  url ? readRepositoryName(url).host : null

/** Whether a person means the repository by `text`, its path or its address. Without `host` nobody knows where it is. */
export function isRepositoryNamed(
  text: string,
  { owner, repo, host }: { owner: string; repo: string; host?: string | null | undefined },
): boolean {
  const named = readRepositoryName(text)
  const path = `${owner}/${repo}`.toLowerCase()
  const is_there = named.host === null || host === undefined || named.host === host
  // Groups may look like hosts.
  return (is_there && named.path.toLowerCase() === path) || text.toLowerCase() === path
}

/** Folder of the repository below `/workspace`. */
export function directoryOf({ directory, url, local_path = '' }: EnvironmentRepository): string {
  if (directory) return directory
  const path = (url ? decodePercent(new URL(url).pathname) : local_path).replace(/\/+(\.git\/*)?$/, '')
  const name = (path.split('/').at(-1) ?? '')
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.-]+/, '')
  return name || 'repository'
}

/** Folders of the workspace that are the run's own. */
const RESERVED: readonly string[] = ['artifacts', 'attachments']

/** Which repository of an environment cannot have its folder, and why; `null`: all can. */
export function findFolderConflict(
  repositories: readonly EnvironmentRepository[],
): { place: number; message: string } | null {
  const folders = repositories.map(directoryOf)
  for (const [place, folder] of folders.entries()) {
    if (RESERVED.includes(folder))
      return { place, message: `cannot be in the folder ${folder}, which is the run’s own: set directory` }
    if (folders.indexOf(folder) < place)
      return {
        place,
        message: `would be in the folder ${folder}, where another repository is: set directory of one of them`,
      }
  }
  return null
}
