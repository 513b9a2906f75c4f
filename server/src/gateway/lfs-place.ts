import { type Address, openDirectory, Unusable } from './dial.ts'
import { isPrivateHost, readTarget, type Target } from './egress-rules.ts'
import type { EgressRules, GitRepository, GitRules } from './gateway.ts'

/** Where a request about large files goes, checked. */
export interface LfsPlace {
  url: URL
  target: Target
  addresses: Address[]
  /** It is the repository's own host, to whom its credential belongs. */
  is_own: boolean
}

export type LocateLfs = (url: URL, repository: GitRepository) => Promise<LfsPlace>

/**
 * Hosts name the storage of their large files, so it may be any that is public; what is not public the operator has named. Throws
 * `Refused`, `Unreachable`.
 */
export function openLfsPlaces({
  git,
  private_hosts,
}: Pick<EgressRules, 'private_hosts'> & { git: GitRules }): LocateLfs {
  const others = { hosts: null, private_hosts }
  const findOwn = openDirectory({ hosts: git.repositories.map(({ host }) => host), private_hosts })
  const findOthers = openDirectory(others)

  return async (url, repository) => {
    const is_tls = url.protocol === 'https:'
    const target = readTarget(url.host, is_tls ? 443 : 80)
    if (!target || url.username || url.password || !/^https?:$/.test(url.protocol))
      throw new Unusable(`${repository.host} names no web address for a large file.`)
    const own = readTarget(repository.host, 443)
    const is_own = is_tls && target.host === own?.host && target.port === own.port
    const addresses = await (is_own ? findOwn : findOthers)(target)
    // What passes holds what lets others in.
    if (!is_tls && !isPrivateHost(others, target))
      throw new Unusable(`${target.host} would transfer large files without TLS.`)
    return { url, target, addresses, is_own }
  }
}
