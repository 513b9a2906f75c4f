import type { EnvironmentConfig } from '../contract/environment.ts'
import { directoryOf, repositoriesOf } from '../contract/environment-repositories.ts'
import type { EnvironmentRepository } from '../contract/environment-repository.ts'
import type { GitCredential, GitRules } from '../gateway/gateway.ts'
import { PROXY_URL } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import type { WorkerSettings } from './context.ts'

/** The branch that a run pushes unless it is told otherwise. */
export const branchOf = (run_id: string): string => `runyard/${run_id}`

/** What the gateway does for a run with git. */
export interface GitPlan {
  rules: GitRules
  /** Leads git in the sandbox to the gateway. */
  env: Record<string, string>
}

/** Which repositories of the environment go by the gateway: those on hosts for which there is a credential. `null`: none. */
export function planGit(
  config: EnvironmentConfig,
  run_id: string,
  { credentials, variables }: { credentials: readonly GitCredential[]; variables: Record<string, string> },
  { git_hosts }: Pick<WorkerSettings, 'git_hosts'>,
): GitPlan | null {
  const hosts = new Set(credentials.map(({ host }) => host))
  const repositories = repositoriesOf(config)
    .flatMap(({ url }) => (url ? [readRepositoryAddress(url)] : []))
    .filter(({ host }) => hosts.has(host))
  if (repositories.length === 0) return null
  const branch = branchOf(run_id)
  const branches = [branch, ...(config.push_branches ?? [])]
  return {
    rules: { repositories, credentials, branches, kinds: git_hosts },
    env: {
      ...configureGit(repositories.flatMap(leadToGateway), variables),
      RUNYARD_BRANCH: branch,
    },
  }
}

/** As the gateway names a repository. */
export function readRepositoryAddress(address: string): GitRules['repositories'][number] {
  const { host, pathname } = new URL(address)
  const named = pathname.replace(/^\/+|\/+$/g, '')
  const path = named.replace(/\.git$/, '')
  return { host, path, has_suffix: path !== named }
}

/** Whether git in the sandbox reaches the repository by the gateway. */
export const goesByGateway = (git: GitPlan | null, { url }: EnvironmentRepository): boolean =>
  url !== undefined && (git?.rules.repositories.some(({ host }) => host === new URL(url).host) ?? false)

/** Repositories of a workspace that can be pushed, with their folders below it. */
export function pushableOf({
  config,
  git,
  commits,
}: {
  config: EnvironmentConfig
  git: GitPlan | null
  commits: Commits
}) {
  return repositoriesOf(config).flatMap((repository) => {
    const directory = directoryOf(repository)
    const { url } = repository
    if (!url || !(directory in commits) || !goesByGateway(git, repository)) return []
    return [{ repository: { ...repository, url }, directory }]
  })
}

/** Settings of git: by https, and as people write it who have keys of ssh. */
function leadToGateway({ host, path }: GitRules['repositories'][number]): Array<[string, string]> {
  const base = `url.${PROXY_URL}/git/${host}/${path}.insteadOf`
  const ssh = host.includes(':') ? [] : [`git@${host}:${path}`, `ssh://git@${host}/${path}`]
  return [`https://${host}/${path}`, ...ssh].map((address) => [base, address])
}

/** Settings as variables (git-config(1), GIT_CONFIG_COUNT), behind those that the environment has of its own. */
function configureGit(
  settings: Array<[string, string]>,
  variables: Record<string, string>,
): Record<string, string> {
  const own = /^\d{1,4}$/.test(variables.GIT_CONFIG_COUNT ?? '') ? Number(variables.GIT_CONFIG_COUNT) : 0
  return {
    ...Object.fromEntries(
      settings.flatMap(([key, value], at) => [
        [`GIT_CONFIG_KEY_${own + at}`, key],
        [`GIT_CONFIG_VALUE_${own + at}`, value],
      ]),
    ),
    GIT_CONFIG_COUNT: String(own + settings.length),
  }
}
