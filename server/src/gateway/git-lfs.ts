/**
 * Large files of the environment's repositories. The host says where each one is transferred, with headers that let in whoever
 * has them: both stay here, and git-lfs in the sandbox gets addresses of this gateway in their place. What is dialled is checked
 * like all else.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { BUDGETS } from '../budgets/budgets.ts'
import { Holdings } from '../budgets/holdings.ts'
import { Refused } from './dial.ts'
import type { EgressRules, GitCredential, GitRepository, GitRules, Refusal } from './gateway.ts'
import {
  credentialOf,
  describeFailure,
  explainStatus,
  type GitAnswer,
  judgePush,
  refuseGit,
  statusOf,
} from './git-answers.ts'
import { basicOf } from './git-credential.ts'
import { kindOf } from './git-host.ts'
import { gitPathOf } from './git-rules.ts'
import { type LfsBatch, readBatch, rewriteBatch, writeBatch } from './lfs-batch.ts'
import { KeptTransfers } from './lfs-kept.ts'
import { openLfsPlaces } from './lfs-place.ts'
import type { LfsRequest } from './lfs-request.ts'
import { createLfsTransfers, LFS_METHODS } from './lfs-transfer.ts'
import { askStorage, bodyOf } from './lfs-upstream.ts'

const MIME = 'application/vnd.git-lfs+json'
const MAX_ASKED = 1024 ** 2
const MAX_ANSWER = 4 * 1024 ** 2

interface GitLfsOptions {
  tokenOf: (credential: GitCredential, path: string) => Promise<string>
  onRefusal: (refusal: Refusal) => void
  /** The sandbox is gone: nothing is kept for it any more. */
  closed: AbortSignal
}

export type GitLfs = (
  incoming: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
  asked: { request: LfsRequest; repository: GitRepository },
) => Promise<void>

export function createGitLfs(
  { git, private_hosts }: Pick<EgressRules, 'private_hosts'> & { git: GitRules },
  { tokenOf, onRefusal, closed }: GitLfsOptions,
): GitLfs {
  const sandbox = randomUUID()
  const transfers = new KeptTransfers(sandbox, closed)
  const authorizationOf = async (repository: GitRepository): Promise<string | null> => {
    const credential = credentialOf(git, repository)
    const kind = kindOf(repository.host, git.kinds)
    return credential && basicOf(credential, await tokenOf(credential, repository.path), kind)
  }

  const locate = openLfsPlaces({ git, private_hosts })
  const pass = createLfsTransfers({ locate, authorizationOf })

  const explain = (answer: IncomingMessage, repository: GitRepository): GitAnswer => {
    answer.resume()
    const { statusCode: status = 502, headers } = answer
    const message = explainStatus(status, repository, credentialOf(git, repository), headers.location)
    if (status === 401 || status === 403) return refuseGit(onRefusal, repository.host, 'credential', message)
    return { status: PASSED_ON.includes(status) ? status : statusOf(status), message }
  }

  const answerBatch = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    repository: GitRepository,
  ): Promise<GitAnswer | null> => {
    const encoded = incoming.headers['content-encoding'] !== undefined
    const body = encoded ? null : await readText(incoming, MAX_ASKED)
    const batch = body === null ? null : readBatch(body)
    const here = /^[\w.:[\]-]{1,255}$/.exec(incoming.headers.host ?? '')?.[0]
    if (!batch || !here) return NO_BATCH
    const denied = batch.operation === 'upload' ? judgePush(onRefusal, git, repository) : null
    if (denied) return denied
    const credential = credentialOf(git, repository)
    const answer = await askHost(repository, batch, signal)
    if (answer.statusCode !== 200) return explain(answer, repository)
    const said = await readText(answer, MAX_ANSWER)
    if (said === null) answer.destroy()
    const base = `http://${here}/git/${repository.host}/${repository.path}.git/info/lfs/transfers`
    let is_full = false
    const rewritten =
      said &&
      rewriteBatch(said, batch, (name, object, action) => {
        const id = transfers.keep({ name, repository, object, action })
        is_full ||= id === null
        return `${base}/${id}`
      })
    if (is_full) return TOO_MANY
    if (!rewritten)
      return { status: 502, message: `${repository.host} does not answer as Git LFS does (basic transfers).` }
    const text = JSON.stringify(rewritten)
    const token = credential && (await tokenOf(credential, repository.path))
    // What a host says of an object may be anything.
    response.writeHead(200, { 'content-type': MIME }).end(token ? text.replaceAll(token, '***') : text)
    return null
  }

  /** Throws `Refused`, `Unreachable`, `GitHostFailure`. */
  const askHost = async (
    repository: GitRepository,
    batch: LfsBatch,
    signal: AbortSignal,
  ): Promise<IncomingMessage> => {
    const path = gitPathOf(repository, kindOf(repository.host, git.kinds)).replace(/(\.git)?$/, '.git')
    const place = await locate(
      new URL(`https://${repository.host}${path}/info/lfs/objects/batch`),
      repository,
    )
    const authorization = await authorizationOf(repository)
    const headers = {
      ...{ accept: MIME, 'content-type': MIME },
      ...(authorization ? { authorization } : {}),
    }
    return askStorage({ method: 'POST', ...place, headers, body: bodyOf(writeBatch(batch)) }, signal)
  }

  const serve = (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    { request, repository }: { request: LfsRequest; repository: GitRepository },
  ): Promise<GitAnswer | null> => {
    if (request.asks === 'locks') return Promise.resolve(NO_LOCKS)
    if (request.asks === 'batch')
      return within(QUESTIONS, sandbox, () => answerBatch(incoming, response, signal, repository))
    const known = transfers.find(request.id)
    // An address is of one repository and one direction.
    if (known?.repository !== repository || LFS_METHODS[known.name] !== incoming.method)
      return Promise.resolve(NO_TRANSFER)
    return within(TRANSFERS, sandbox, async () => {
      const failure = await pass(incoming, response, signal, known)
      // What is passed on goes on after its head.
      if (!failure && !response.closed) await once(response, 'close')
      return failure
    })
  }
  return async (incoming, response, signal, asked) => {
    const failure = await serve(incoming, response, signal, asked).catch((error: unknown) => {
      if (error instanceof Refused) onRefusal(error.refusal)
      return describeFailure(error)
    })
    if (failure) answerLfs(incoming, response, failure)
  }
}

/** Of all sandboxes of this process. */
const QUESTIONS = new Holdings(BUDGETS.lfs_questions)
const TRANSFERS = new Holdings(BUDGETS.lfs_transfers)

/** Does it where the sandbox, and all together, have room. */
async function within(
  held: Holdings,
  sandbox: string,
  work: () => Promise<GitAnswer | null>,
): Promise<GitAnswer | null> {
  if (!held.take(sandbox)) return TOO_MANY
  try {
    return await work()
  } finally {
    held.giveBack(sandbox)
  }
}

/** The client waits and asks again. */
const TOO_MANY: GitAnswer = {
  status: 429,
  message: 'Too many large files are on their way at once. Try again in a moment.',
}
const NO_BATCH: GitAnswer = { status: 422, message: 'The gateway does not take this question of Git LFS.' }
/** The client goes on without locks. */
const NO_LOCKS: GitAnswer = { status: 501, message: 'The gateway has no locks of Git LFS.' }
const NO_TRANSFER: GitAnswer = { status: 404, message: 'There is no such transfer of a large file.' }
/** What the client knows what to do about, or tells the user in its own words. */
const PASSED_ON = [404, 413, 422, 429, 501, 503, 507, 509]

/** In the shape in which the client expects errors: it prints the message. */
export function answerLfs(
  incoming: IncomingMessage,
  response: ServerResponse,
  { status, message }: GitAnswer,
): void {
  incoming.resume()
  if (response.headersSent) return void response.destroy()
  const again = status === 429 ? { 'retry-after': '2' } : {}
  response.writeHead(status, { 'content-type': MIME, ...again }).end(JSON.stringify({ message }))
}

/** `null`: it is longer; the rest is left in the stream. */
async function readText(stream: Readable, max_bytes: number): Promise<string | null> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > max_bytes) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
