import type { IncomingMessage } from 'node:http'
import { GIT_HOST } from './git-request.ts'

/** A request of Git LFS (its `docs/api`): what there is to transfer, one transfer, or anything about locks. */
export type LfsRequest = {
  host: string
  /** Without `.git`. */
  path: string
} & ({ asks: 'batch' } | { asks: 'locks' } | { asks: 'transfer'; id: string })

const ADDRESS = new RegExp(
  `^/git/(?<host>${GIT_HOST})/(?<path>[^?]+?)(\\.git)?/info/lfs/(?:(?<batch>objects/batch)|(?<locks>locks)(?:[/?].*)?|transfers/(?<id>[0-9a-f]{32}))$`,
)

/** `null`: it is none. Like git's the path is only compared. */
export function readLfsRequest({ method, url = '' }: IncomingMessage): LfsRequest | null {
  const { host = '', path = '', batch, locks, id } = ADDRESS.exec(url)?.groups ?? {}
  if (locks !== undefined) return { host, path, asks: 'locks' }
  if (batch !== undefined) return method === 'POST' ? { host, path, asks: 'batch' } : null
  return id === undefined ? null : { host, path, asks: 'transfer', id }
}
