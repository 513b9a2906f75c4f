/**
 * Git for one sandbox: fetches, pushes of its own branches and large files, of the environment's repositories alone. The
 * credential is added here, so it never enters the sandbox, where `url.<base>.insteadOf` leads git to this place.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { openDirectory } from './dial.ts'
import { readTarget } from './egress-rules.ts'
import type { EgressRules, GitCredential, GitHostKind, GitRepository, GitRules, Refusal } from './gateway.ts'
import {
  credentialOf,
  describeFailure,
  explainStatus,
  type GitAnswer,
  judgePush,
  nameOf,
  refuseGit,
  statusOf,
} from './git-answers.ts'
import { basicOf } from './git-credential.ts'
import { kindOf } from './git-host.ts'
import { answerLfs, createGitLfs } from './git-lfs.ts'
import { type GitRequest, readGitRequest } from './git-request.ts'
import { gitPathOf, mayPush, readRef } from './git-rules.ts'
import { askUpstream, passAnswer } from './git-upstream.ts'
import { type LfsRequest, readLfsRequest } from './lfs-request.ts'
import { BrokenLines } from './pkt-line.ts'
import { type Push, type PushCommand, readPush, writeRejection } from './push-commands.ts'

interface GitGatewayOptions {
  /** The token of a credential for one repository. Throws `GitHostFailure`. */
  tokenOf: (credential: GitCredential, path: string) => Promise<string>
  /** Told each time. */
  onRefusal: (refusal: Refusal) => void
  /** The sandbox is gone. */
  closed: AbortSignal
}

/** Answers one request below `GIT_PREFIX`, until the signal says that nobody waits. */
export type GitGateway = (
  incoming: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
) => Promise<void>

export function createGitGateway(
  { git, private_hosts }: Pick<EgressRules, 'private_hosts'> & { git: GitRules },
  { tokenOf, onRefusal, closed }: GitGatewayOptions,
): GitGateway {
  const serveLfs = createGitLfs({ git, private_hosts }, { tokenOf, onRefusal, closed })
  const findAddresses = openDirectory({ hosts: git.repositories.map(({ host }) => host), private_hosts })

  const refuse = (host: string, reason: Refusal['reason'], message: string) =>
    refuseGit(onRefusal, host, reason, message)

  const pass = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    { asked, repository, push }: { asked: GitRequest; repository: GitRepository; push: Push | null },
  ): Promise<GitAnswer | null> => {
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
    const message = explainStatus(status, repository, credential, upstream.headers.location)
    if (status === 401 || status === 403) return refuse(repository.host, 'credential', message)
    return { status: statusOf(status), message }
  }

  const find = (named: { host: string; path: string }) =>
    git.repositories.find(({ host, path }) => host === named.host && path === named.path)

  const serveFiles = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    request: LfsRequest,
  ): Promise<void> => {
    const repository = find(request)
    if (repository) return serveLfs(incoming, response, signal, { request, repository })
    if (request.asks !== 'batch') return answerLfs(incoming, response, NO_REQUEST)
    sendElsewhere(incoming, response, request, '.git/info/lfs/objects/batch')
  }

  const refuseOther = (incoming: IncomingMessage, response: ServerResponse, asked: GitRequest): void => {
    const message = `The environment does not name the repository ${nameOf(asked)}.`
    if (isElsewhere(asked))
      sendElsewhere(incoming, response, asked, `${suffixOf(incoming)}/info/refs?service=git-upload-pack`)
    else answer(incoming, response, refuse(asked.host, 'repository', message))
  }

  const serve: GitGateway = async (incoming, response, signal) => {
    const request = readLfsRequest(incoming)
    if (request) return serveFiles(incoming, response, signal, request)
    const asked = readGitRequest(incoming)
    if (!asked) return answer(incoming, response, NO_REQUEST)
    const repository = find(asked)
    if (!repository) return refuseOther(incoming, response, asked)
    const denied = asked.service === 'git-receive-pack' ? judgePush(onRefusal, git, repository) : null
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
    const failure = await pass(incoming, response, signal, { asked, repository, push }).catch(describeFailure)
    if (failure) answer(incoming, response, failure)
  }
  return serve
}

const NO_REQUEST: GitAnswer = { status: 404, message: 'This is no request that the gateway takes from git.' }
const NO_PUSH: GitAnswer = { status: 400, message: 'The gateway does not take this kind of push.' }

const pathOf = (
  repository: GitRepository,
  { service, advertises }: GitRequest,
  kind: GitHostKind | null,
): string => `${gitPathOf(repository, kind)}/${advertises ? `info/refs?service=${service}` : service}`

function judge(git: GitRules, { ref, deletes }: PushCommand): string | null {
  const branches = git.branches.join(', ')
  if (!mayPush(git, ref)) return `this run may push ${branches}, and not ${readRef(ref)}`
  return deletes ? 'branches are not deleted from here' : null
}

function ifBroken(error: unknown): null {
  if (error instanceof BrokenLines) return null
  throw error
}

/** Git compares the beginnings of addresses: with `acme/site` it brings `acme/site-docs` here as well, and so does git-lfs. */
const isElsewhere = ({ advertises, service }: GitRequest): boolean =>
  advertises && service === 'git-upload-pack'

function sendElsewhere(
  incoming: IncomingMessage,
  response: ServerResponse,
  { host, path }: { host: string; path: string },
  rest: string,
): void {
  incoming.resume()
  response.writeHead(307, { location: `https://${host}/${path}${rest}` }).end()
}

const suffixOf = ({ url }: IncomingMessage): string => (url?.includes('.git/info/refs') ? '.git' : '')

function answer(incoming: IncomingMessage, response: ServerResponse, { status, message }: GitAnswer): void {
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
