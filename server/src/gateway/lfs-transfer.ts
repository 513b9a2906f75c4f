import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import type { GitRepository } from './gateway.ts'
import { type GitAnswer, nameOf } from './git-answers.ts'
import type { LfsAction, LfsActionName, LfsObject } from './lfs-batch.ts'
import type { LfsPlace, LocateLfs } from './lfs-place.ts'
import { askStorage, bodyOf, type LfsCall } from './lfs-upstream.ts'

/** What a host has allowed: one object, in one direction. */
export interface LfsTransfer {
  name: LfsActionName
  repository: GitRepository
  object: LfsObject
  action: LfsAction
}

export const LFS_METHODS = { download: 'GET', upload: 'PUT', verify: 'POST' } as const
const MIME = 'application/vnd.git-lfs+json'
/** Some hosts send on to their storage. */
const MAX_REDIRECTS = 3
const OTHER_LENGTH: GitAnswer = { status: 422, message: 'What is sent is not as long as the object.' }

/** Passes one transfer on; what it gives is not done. Throws `Refused`, `Unreachable`, `GitHostFailure`. */
export function createLfsTransfers({
  locate,
  authorizationOf,
}: {
  locate: LocateLfs
  authorizationOf: (repository: GitRepository) => Promise<string | null>
}) {
  /** As the host said, and the credential where it said nothing and speaks of the repository itself. */
  const headersOf = async (
    { name, repository, action }: LfsTransfer,
    incoming: IncomingMessage,
    { is_own, url }: LfsPlace,
  ): Promise<Record<string, string>> => {
    const headers = { ...action.header, ...describeBody(name, incoming, action) }
    if ('authorization' in headers || !is_own || !isBelow(url, repository)) return headers
    const authorization = await authorizationOf(repository)
    return authorization ? { ...headers, authorization } : headers
  }

  /** The answer at the end of all redirects. */
  const follow = async (
    first: Omit<LfsCall, 'url' | 'target' | 'addresses'>,
    start: LfsPlace,
    repository: GitRepository,
    signal: AbortSignal,
  ): Promise<{ answer: IncomingMessage; place: LfsPlace }> => {
    let [call, place] = [first, start]
    for (let redirects = 0; ; redirects += 1) {
      const answer = await askStorage({ ...call, ...place }, signal)
      const to = call.method === 'GET' ? findRedirect(answer, place.url) : null
      if (!to || redirects === MAX_REDIRECTS) return { answer, place }
      answer.destroy()
      // Headers let in at the host that they were said for.
      if (to.host !== place.url.host) call = { ...call, headers: pick(call.headers, ['range']) }
      place = await locate(to, repository)
    }
  }

  return async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    transfer: LfsTransfer,
  ): Promise<GitAnswer | null> => {
    const { name, repository, object, action } = transfer
    const url = URL.parse(action.href)
    if (!url) return { status: 502, message: `${repository.host} names no address for a large file.` }
    const length = incoming.headers['content-length']
    if (name === 'upload' && length !== undefined && Number(length) !== object.size) return OTHER_LENGTH
    const start = await locate(url, repository)
    const headers = await headersOf(transfer, incoming, start)
    const body = {
      download: null,
      upload: { stream: incoming, bytes: object.size },
      verify: bodyOf(JSON.stringify(object)),
    }[name]
    const call = { method: LFS_METHODS[name], headers, ...(body ? { body } : {}) }
    const { answer, place } = await follow(call, start, repository, signal)
    const status = answer.statusCode ?? 502
    if (status >= 200 && status < 300) {
      passTransfer(answer, response)
      return null
    }
    answer.resume()
    const message = `${place.target.host} answered the ${name} of a large file of ${nameOf(repository)} with status ${status}.`
    // Git-lfs would ask for a credential.
    return { status: status >= 400 && status !== 401 ? status : 502, message }
  }
}

/** Whether the address is of the repository itself. */
const isBelow = ({ pathname }: URL, { path }: GitRepository): boolean =>
  [`/${path}/`, `/${path}.git/`].some((prefix) => pathname.startsWith(prefix))

/** What the sandbox may say beside the host's own headers. */
function describeBody(
  name: LfsActionName,
  { headers }: IncomingMessage,
  { header }: LfsAction,
): Record<string, string> {
  if (name === 'download') return headers.range === undefined ? {} : { range: headers.range }
  if (name === 'verify') return { accept: MIME, 'content-type': header['content-type'] ?? MIME }
  return { 'content-type': header['content-type'] ?? headers['content-type'] ?? 'application/octet-stream' }
}

function findRedirect({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | null {
  const is_redirect = [301, 302, 303, 307, 308].includes(statusCode)
  return is_redirect && headers.location ? URL.parse(headers.location, from.href) : null
}

function passTransfer(answer: IncomingMessage, response: ServerResponse): void {
  const headers = pick(answer.headers, ['content-length', 'content-range', 'accept-ranges'])
  response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/octet-stream', ...headers })
  pipeline(answer, response, () => {})
}

const pick = (headers: Record<string, unknown>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
