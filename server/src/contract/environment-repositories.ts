import type { EnvironmentConfig, EnvironmentRepository } from './environment.ts'

/** All repositories of an environment; `github_repos` is the wire format's short form. */
export const repositoriesOf = (config: EnvironmentConfig): EnvironmentRepository[] => [
  ...(config.github_repos ?? []).map(({ owner, repo }) => ({
    url: `https://github.com/${owner}/${repo}.git`,
  })),
  ...(config.repositories ?? []),
]

/** `https://github.com/acme/site.git` is acme/site, and so is the repository of a machine at `/srv/acme/site/.git`. */
export function ownerOf({ url, local_path = '' }: EnvironmentRepository): { owner: string; repo: string } {
  const path = (url ? decodeURI(new URL(url).pathname) : local_path)
    .replace(/\/+(\.git\/*)?$/, '')
    .replace(/\.git$/, '')
  const parts = path.split('/').filter(Boolean)
  // Of a repository of a machine, where it lies is nobody's business.
  const owner = url ? parts.slice(0, -1).join('/') : (parts.at(-2) ?? '')
  return { owner: owner || 'local', repo: parts.at(-1) ?? 'repository' }
}
