import type { GitHostKind } from './gateway.ts'

/** Whose API a host speaks; `null` where nobody said. `configured`: hosts, perhaps with a port, in lower case. */
export function kindOf(host: string, configured: Record<string, GitHostKind>): GitHostKind | null {
  const name = host.toLowerCase().replace(/:443$/, '')
  if (name === 'github.com') return 'github'
  if (name === 'gitlab.com') return 'gitlab'
  return Object.hasOwn(configured, name) ? (configured[name] ?? null) : null
}

/** Where the API is, without a slash at its end. */
export function apiUrlOf(kind: GitHostKind, host: string): string {
  if (kind === 'gitlab') return `https://${host}/api/v4`
  return /^github\.com(:443)?$/i.test(host) ? 'https://api.github.com' : `https://${host}/api/v3`
}

/** The page of a branch, for people. */
export function branchUrl(kind: GitHostKind, host: string, path: string, branch: string): string {
  return `https://${host}/${encodePath(path)}${kind === 'gitlab' ? '/-' : ''}/tree/${encodePath(branch)}`
}

/** Slashes stay. */
export const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/')
