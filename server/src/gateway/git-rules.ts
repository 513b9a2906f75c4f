import type { GitCredential, GitHostKind } from './git-credential.ts'

/** A repository that is reached by the gateway. */
export interface GitRepository {
  /** As in `github.com` and `git.internal:8443`. */
  host: string
  /** As addresses have it, without slashes around it and without `.git`: `acme/site`. */
  path: string
  /** Whether its address ends in `.git`. */
  has_suffix: boolean
}

/** What one sandbox may do with git. */
export interface GitRules {
  repositories: readonly GitRepository[]
  credentials: readonly GitCredential[]
  /** Branches that may be pushed: names, or `prefix*` for all that begin so. */
  branches: readonly string[]
  /** Whose API these hosts speak, beside github.com and gitlab.com. */
  kinds: Record<string, GitHostKind>
}

/** Where the repository is on its host: GitLab redirects addresses without the suffix, and GitHub takes both. */
export const gitPathOf = ({ path, has_suffix }: GitRepository, kind: GitHostKind | null): string =>
  `/${path}${has_suffix || kind ? '.git' : ''}`

export const mayPush = ({ branches }: GitRules, ref: string): boolean =>
  ref.startsWith('refs/heads/') &&
  branches.some((pattern) => {
    const branch = ref.slice('refs/heads/'.length)
    return pattern.endsWith('*') ? branch.startsWith(pattern.slice(0, -1)) : branch === pattern
  })
