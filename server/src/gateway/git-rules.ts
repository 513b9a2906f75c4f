import { whyNoBranch } from '../contract/ref-name.ts'
import type { GitHostKind, GitRepository, GitRules } from './gateway.ts'

/** Where the repository is on its host: GitLab redirects addresses without the suffix, and GitHub takes both. */
export const gitPathOf = ({ path, has_suffix }: GitRepository, kind: GitHostKind | null): string =>
  `/${path}${has_suffix || kind ? '.git' : ''}`

/** A name that git would refuse is no branch here either: a host that tidies `docs/../main` would push another one than was asked. */
export function mayPush({ branches }: GitRules, ref: string): boolean {
  if (!ref.startsWith('refs/heads/')) return false
  const branch = readRef(ref).slice('refs/heads/'.length)
  if (whyNoBranch(branch) !== null) return false
  return branches.some((pattern) =>
    pattern.endsWith('*') ? branch.startsWith(pattern.slice(0, -1)) : branch === pattern,
  )
}

/** As text, of a name whose bytes stand as Latin-1. */
export const readRef = (ref: string): string => Buffer.from(ref, 'latin1').toString()
