import type { IncomingMessage } from 'node:http'

/** Where git's own addresses begin at the gateway: `/git/<host>/<path>/…`. */
export const GIT_PREFIX = '/git/'

export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** A request of git's smart HTTP protocol (gitprotocol-http(5)). */
export interface GitRequest {
  host: string
  /** Without `.git`. */
  path: string
  service: GitService
  /** It asks what there is, before anything is fetched or pushed. */
  advertises: boolean
}

/** A host in such an address, perhaps with its port; the source of an expression. */
export const GIT_HOST = '[a-z0-9._-]+(?::\\d{1,5})?|\\[[0-9a-f:]+\\](?::\\d{1,5})?'
const ADDRESS = new RegExp(
  `^/git/(?<host>${GIT_HOST})/(?<path>[^?]+?)(\\.git)?/(?:info/refs\\?service=(?<asked>git-upload-pack|git-receive-pack)|(?<service>git-upload-pack|git-receive-pack))$`,
)

/**
 * `null` for everything else. The path is only compared with those of the environment's
 * repositories, and never passed on.
 */
export function readGitRequest({ method, url = '' }: IncomingMessage): GitRequest | null {
  const { host = '', path = '', asked, service = asked } = ADDRESS.exec(url)?.groups ?? {}
  if (service === undefined || method !== (asked ? 'GET' : 'POST')) return null
  return { host, path, service: service as GitService, advertises: asked !== undefined }
}
