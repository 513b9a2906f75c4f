import type { GitCredential, GitHostKind } from './gateway.ts'

/**
 * The credential for a repository, by its path as in `acme/site`; the one that names it most exactly, and of equals the first.
 * `null` where none is meant for it, or the path is not written plainly.
 */
export function findCredential(
  credentials: readonly GitCredential[],
  host: string,
  path: string,
): GitCredential | null {
  // A host may read `acme/../other/site` and `acme/%2e%2e/other/site` as another repository than the patterns do. Spaces and what
  // is not ASCII mean nothing else, and hosts have projects that are called so.
  if (!path.split('/').every((part) => /^(?!\.{1,2}$)(?:[\w.~+-]|%20|%[89a-f][0-9a-f])+$/i.test(part)))
    return null
  let best: { credential: GitCredential; weight: number } | null = null
  for (const credential of credentials) {
    if (normalizeHost(credential.host) !== normalizeHost(host)) continue
    const weight = weigh(credential.repositories, path.toLowerCase())
    if (weight > (best?.weight ?? -1)) best = { credential, weight }
  }
  return best?.credential ?? null
}

/** How exactly a path is named; -1 where it is not. */
function weigh(repositories: readonly string[] | null, path: string): number {
  if (repositories === null) return 0
  const weights = repositories.map((written) => {
    const pattern = written.toLowerCase()
    if (pattern === path) return Number.POSITIVE_INFINITY
    return pattern.endsWith('/*') && path.startsWith(pattern.slice(0, -1)) ? pattern.length : -1
  })
  return Math.max(-1, ...weights)
}

const normalizeHost = (host: string): string => host.toLowerCase().replace(/:443$/, '')

/**
 * The `Authorization` of git over https. GitHub takes any name beside a token; GitLab wants `oauth2` beside one of OAuth, and
 * any beside the others.
 */
export function basicOf(
  { username, host }: Pick<GitCredential, 'username' | 'host'>,
  token: string,
  kind: GitHostKind | null = normalizeHost(host) === 'gitlab.com' ? 'gitlab' : null,
): string {
  const user = username ?? (kind === 'gitlab' ? 'oauth2' : 'x-access-token')
  return `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`
}
