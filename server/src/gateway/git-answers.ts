/** What git is told where something is not done, and who is told beside it. */
import { NotPublic, Refused, Unreachable, Unusable } from './dial.ts'
import { readTarget } from './egress-rules.ts'
import type { GitCredential, GitRepository, GitRules, Refusal } from './gateway.ts'
import { findCredential } from './git-credential.ts'
import { GitHostFailure } from './git-host-api.ts'

/** Git prints the text of an answer to its first request. */
export interface GitAnswer {
  status: number
  message: string
}

export const credentialOf = (
  { credentials }: GitRules,
  { host, path }: GitRepository,
): GitCredential | null => findCredential(credentials, host, path)

export const nameOf = ({ host, path }: { host: string; path: string }): string => `${host}/${path}`

/** `told`: whoever hears of refusals. */
export function refuseGit(
  told: (refusal: Refusal) => void,
  host: string,
  reason: Refusal['reason'],
  message: string,
): GitAnswer {
  const target = readTarget(host, 443)
  if (target) told({ ...target, reason, message })
  return { status: 403, message }
}

/** `null`: something may be pushed there. */
export function judgePush(
  told: (refusal: Refusal) => void,
  git: GitRules,
  repository: GitRepository,
): GitAnswer | null {
  const credential = credentialOf(git, repository)
  if (credential && !credential.read_only) return null
  const why = credential ? `the secret ${credential.name} is for reading` : 'no secret gives access to it'
  return refuseGit(told, repository.host, 'push', `Nothing can be pushed to ${nameOf(repository)}: ${why}.`)
}

/** The status of what may go well later, without anybody's doing: whoever pushes tries again. */
const PASSING = 503

export const statusOf = (status: number): number =>
  status >= 500 || status === 429 ? PASSING : status === 404 ? 404 : 502

/** What is expected to go wrong. */
export function describeFailure(error: unknown): GitAnswer {
  if (error instanceof NotPublic) return { status: PASSING, message: error.message }
  if (error instanceof Refused) return { status: 403, message: error.message }
  if (error instanceof GitHostFailure) {
    const is_passing = error.failure === 'unreachable' || error.failure === 'limited'
    return { status: is_passing ? PASSING : 502, message: error.message }
  }
  if (!(error instanceof Unreachable)) return { status: 502, message: 'The request could not be passed on.' }
  return { status: error instanceof Unusable ? 502 : PASSING, message: error.message }
}

/** What a status of the host means that is not 200. */
export function explainStatus(
  status: number,
  repository: GitRepository,
  credential: GitCredential | null,
  location: string | undefined,
): string {
  const name = nameOf(repository)
  if (status === 401 || status === 403)
    return credential
      ? `${repository.host} refused the secret ${credential.name} for ${repository.path} (status ${status}). Give it a token that is valid and may reach the repository.`
      : `${repository.host} asks for a credential for ${repository.path}, and no secret of the environment is for it.`
  if (status === 404)
    return `${repository.host} has no repository ${repository.path}${credential ? `, or the secret ${credential.name} does not reach it` : ''}.`
  if (status >= 300 && status < 400) {
    // Not what is behind `?`, nor a user: hosts may say a token again.
    const to = URL.parse(location ?? '')
    return `${name} has moved${to ? ` (${`${to.origin}${to.pathname}`.slice(0, 300)})` : ''}. Name its new address in the environment.`
  }
  return `${repository.host} answered git with status ${status}.`
}
