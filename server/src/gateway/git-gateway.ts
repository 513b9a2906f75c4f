/**
 * Git for one sandbox: fetches, and pushes of its own branches, of the environment's repositories and of nothing else. The
 * credential is added here, so it never enters the sandbox, where `url.<base>.insteadOf` leads git to this place.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { openDirectory, Refused, Unreachable } from './dial.ts'
import { readTarget } from './egress-rules.ts'
import type { EgressRules, GitCredential, GitHostKind, GitRepository, GitRules, Refusal } from './gateway.ts'
import { basicOf, findCredential } from './git-credential.ts'
import { kindOf } from './git-host.ts'
import { GitHostFailure } from './git-host-api.ts'
import { type GitRequest, readGitRequest } from './git-request.ts'
import { gitPathOf, mayPush } from './git-rules.ts'
import { askUpstream, passAnswer } from './git-upstream.ts'
import { BrokenLines } from './pkt-line.ts'
import { type Push, type PushCommand, readPush, writeRejection } from './push-commands.ts'

interface GitGatewayOptions {
  /** The token of a credential for one repository. Throws `GitHostFailure`. */
  tokenOf: (credential: GitCredential, path: string) => Promise<string>
  /** Told each time. */
  onRefusal: (refusal: Refusal) => void
}

/** Answers one request below `GIT_PREFIX`, until the signal says that nobody waits. */
export type GitGateway = (
  incoming: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
) => Promise<void>

export function createGitGateway(
  { git, private_hosts }: Pick<EgressRules, 'private_hosts'> & { git: GitRules },
  { tokenOf, onRefusal }: GitGatewayOptions,
): GitGateway {
  const findAddresses = openDirectory({ hosts: git.repositories.map(({ host }) => host), private_hosts })

  /** What one request may not do, and how git is told. */
  const refuse = (host: string, reason: Refusal['reason'], message: string): Answer => {
    const target = readTarget(host, 443)
    if (target) onRefusal({ ...target, reason, message })
    return { status: 403, message }
  }

  const judgeAccess = (repository: GitRepository, service: string): Answer | null => {
    if (service === 'git-upload-pack') return null
    const credential = credentialOf(git, repository)
    if (credential && !credential.read_only) return null
    const why = credential ? `the secret ${credential.name} is for reading` : 'no secret gives access to it'
    return refuse(repository.host, 'push', `Nothing can be pushed to ${nameOf(repository)}: ${why}.`)
  }

  const pass = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    { asked, repository, push }: { asked: GitRequest; repository: GitRepository; push: Push | null },
  ): Promise<Answer | null> => {
    const credential = credentialOf(git, repository)
    const target = readTarget(repository.host, 443)
    if (!target) return { status: 400, message: `${repository.host} is no host.` }
    const kind = kindOf(repository.host, git.kinds)
    const upstream = await askUpstream(
      incoming,
      {
        target,
        addresses: await findAddresses(target),
        method: asked.advertises ? 'GET' : 'POST',
        path: pathOf(repository, asked, kind),
        authorization: credential && basicOf(credential, await tokenOf(credential, repository.path), kind),
        head: push?.head ?? null,
      },
      signal,
    )
    const status = upstream.statusCode ?? 502
    if (status === 200) {
      passAnswer(upstream, response)
      return null
    }
    upstream.resume()
    const message = explain(status, repository, credential, upstream.headers.location)
    if (status === 401 || status === 403) return refuse(repository.host, 'credential', message)
    return { status: status === 404 ? 404 : 502, message }
  }

  const serve: GitGateway = async (incoming, response, signal) => {
    const asked = readGitRequest(incoming)
    if (!asked) return answer(incoming, response, NO_REQUEST)
    const repository = git.repositories.find(({ host, path }) => host === asked.host && path === asked.path)
    if (!repository) {
      const message = `The environment does not name the repository ${nameOf(asked)}.`
      return isElsewhere(asked)
        ? sendElsewhere(incoming, response, asked)
        : answer(incoming, response, refuse(asked.host, 'repository', message))
    }
    const denied = judgeAccess(repository, asked.service)
    if (denied) return answer(incoming, response, denied)
    let push: Push | null = null
    if (asked.service === 'git-receive-pack' && !asked.advertises) {
      push = incoming.headers['content-encoding'] ? null : await readPush(incoming).catch(ifBroken)
      if (!push || push.capabilities.has('push-options')) return answer(incoming, response, NO_PUSH)
      const reasons = push.commands.map((command) => judge(git, command))
      const reason = reasons.find((each) => each !== null)
      if (reason) {
        refuse(repository.host, 'push', `Nothing was pushed to ${nameOf(repository)}: ${reason}.`)
        return reject(incoming, response, push, (place) => reasons[place] ?? 'refused with the others')
      }
    }
    const failure = await pass(incoming, response, signal, { asked, repository, push }).catch(describe)
    if (failure) answer(incoming, response, failure)
  }
  return serve
}

/** Git prints the text of an answer to its first request. */
interface Answer {
  status: number
  message: string
}

const NO_REQUEST: Answer = { status: 404, message: 'This is no request that the gateway takes from git.' }
const NO_PUSH: Answer = { status: 400, message: 'The gateway does not take this kind of push.' }

const credentialOf = ({ credentials }: GitRules, { host, path }: GitRepository): GitCredential | null =>
  findCredential(credentials, host, path)

const nameOf = ({ host, path }: { host: string; path: string }): string => `${host}/${path}`

const pathOf = (
  repository: GitRepository,
  { service, advertises }: GitRequest,
  kind: GitHostKind | null,
): string => `${gitPathOf(repository, kind)}/${advertises ? `info/refs?service=${service}` : service}`

function judge(git: GitRules, { ref, deletes }: PushCommand): string | null {
  const branches = git.branches.join(', ')
  if (!mayPush(git, ref)) return `this run may push ${branches}, and not ${ref}`
  return deletes ? 'branches are not deleted from here' : null
}

function ifBroken(error: unknown): null {
  if (error instanceof BrokenLines) return null
  throw error
}

/** What is expected to go wrong. */
function describe(error: unknown): Answer {
  if (error instanceof Refused) return { status: 403, message: error.message }
  const is_expected = error instanceof Unreachable || error instanceof GitHostFailure
  return { status: 502, message: is_expected ? error.message : 'The request could not be passed on.' }
}

function explain(
  status: number,
  repository: GitRepository,
  credential: GitCredential | null,
  location: string | undefined,
): string {
  const name = nameOf(repository)
  if (status === 401 || status === 403)
    return credential
      ? `${repository.host} refused the secret ${credential.name} for ${repository.path} (status ${status}).`
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

/** Git compares the beginnings of addresses: with `acme/site` it brings `acme/site-docs` here as well. */
const isElsewhere = ({ advertises, service }: GitRequest): boolean =>
  advertises && service === 'git-upload-pack'

function sendElsewhere(
  incoming: IncomingMessage,
  response: ServerResponse,
  { host, path }: GitRequest,
): void {
  incoming.resume()
  const suffix = incoming.url?.includes('.git/info/refs') ? '.git' : ''
  const location = `https://${host}/${path}${suffix}/info/refs?service=git-upload-pack`
  response.writeHead(307, { location }).end()
}

function answer(incoming: IncomingMessage, response: ServerResponse, { status, message }: Answer): void {
  incoming.resume()
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${message}\n`)
}

/** Git sends all it has before it reads. */
function reject(
  incoming: IncomingMessage,
  response: ServerResponse,
  push: Push,
  reasonOf: (place: number) => string,
): void {
  incoming.resume()
  incoming.once('end', () =>
    response
      .writeHead(200, { 'content-type': 'application/x-git-receive-pack-result' })
      .end(writeRejection(push, reasonOf)),
  )
}
