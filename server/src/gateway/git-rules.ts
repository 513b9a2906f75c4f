import type { GitHostKind, GitRepository, GitRules } from './gateway.ts'

/** Where the repository is on its host: GitLab redirects addresses without the suffix, and GitHub takes both. */
export const gitPathOf = ({ path, has_suffix }: GitRepository, kind: GitHostKind | null): string =>
  `/${path}${has_suffix || kind ? '.git' : ''}`

export const mayPush = ({ branches }: GitRules, ref: string): boolean =>
  ref.startsWith('refs/heads/') &&
  branches.some((pattern) => {
    const branch = readRef(ref).slice('refs/heads/'.length)
    return pattern.endsWith('*') ? branch.startsWith(pattern.slice(0, -1)) : branch === pattern
  })

/** As text, of a name whose bytes stand as Latin-1. */
export const readRef = (ref: string): string => Buffer.from(ref, 'latin1').toString()
