/** A stand-in for GitHub (as Enterprise Server answers) and GitLab: git over https, and their APIs as far as Runyard uses them. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { makeCertificate } from './certificate.ts'
import { runBackend } from './git.ts'
import { answerGithub } from './git-hosts-github.ts'
import { answerGitlab } from './git-hosts-gitlab.ts'
import { addressOfHost } from './host-address.ts'
import {
  type Answer,
  findGrant,
  findRepository,
  type GitHostOptions,
  type GitHostRequest,
  type GitHostState,
  type Grant,
  type HostedComment,
  type HostedPull,
  mayReach,
} from './hosted-repositories.ts'
import { type LfsHost, serveLfs } from './lfs-host.ts'

export interface GitHost {
  url: string
  /** `address:port`. */
  host: string
  /** The certificate that is to be trusted (`NODE_EXTRA_CA_CERTS`, `GIT_SSL_CAINFO`). */
  ca_file: string
  requests: GitHostRequest[]
  pulls: HostedPull[]
  comments: HostedComment[]
  lfs: LfsHost | null
  /** Ends what is open now, `silence` too. */
  breakOff(): void
  close(): void
}

export async function serveGitHost(options: GitHostOptions): Promise<GitHost> {
  const address = addressOfHost()
  const certificate = makeCertificate(address)
  const { key, cert, cert_file } = certificate
  const lfs = options.lfs ? await serveLfs(certificate) : null
  const grants = new Map(Object.entries(options.tokens ?? {}))
  if (options.token) grants.set(options.token, { contents: 'write', pull_requests: 'write' })
  const requests: GitHostRequest[] = []
  const now = options.now ?? Date.now
  const state: GitHostState = { options, url: '', grants, pulls: [], comments: [], now, lfs }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', state.url)
    const is_api = url.pathname.startsWith('/api/')
    const said: GitHostRequest = {
      ...{ method: request.method ?? '', path: `${url.pathname}${url.search}` },
      ...{ authorization: request.headers.authorization, body: is_api ? await text(request) : '' },
    }
    requests.push(said)
    const instead = options.interfere?.(said)
    if (instead instanceof Error) return void request.socket.destroy()
    if (instead === 'silence') return
    if (instead) return void send(response, instead, now())
    if (!is_api) return void serveGit(state, url, request, response)
    const prefix = options.kind === 'github' ? '/api/v3' : '/api/v4'
    if (!url.pathname.startsWith(`${prefix}/`)) return void send(response, { status: 404 }, now())
    url.pathname = url.pathname.slice(prefix.length)
    const answerApi = options.kind === 'github' ? answerGithub : answerGitlab
    send(response, await answerApi(state, url, said), now())
  }
  const server = createServer({ key, cert }, (request, response) => {
    answer(request, response).catch((error) => send(response, { status: 500, body: String(error) }, now()))
  })
  const { onData } = options
  if (onData) server.on('secureConnection', (socket) => socket.on('data', onData))
  await new Promise<void>((resolve) => server.listen(0, address, resolve))
  const host = `${address}:${(server.address() as AddressInfo).port}`
  state.url = `https://${host}`
  return {
    ...{ url: state.url, host, ca_file: cert_file, requests, pulls: state.pulls, lfs },
    comments: state.comments,
    breakOff: () => server.closeAllConnections(),
    close() {
      lfs?.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

function send(response: ServerResponse, { status, body, headers }: Answer, now: number): void {
  if (response.headersSent) return void response.destroy()
  response
    .writeHead(status, {
      ...{ 'content-type': 'application/json', date: new Date(now).toUTCString() },
      ...headers,
    })
    .end(typeof body === 'string' ? body : JSON.stringify(body ?? {}))
}

async function answerLfs(
  { lfs }: GitHostState,
  { contents }: Grant,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (url.pathname.endsWith('/verify') && contents !== 'write') return void response.writeHead(403).end()
  await lfs?.answer(request, response, url.href).catch(() => response.destroy())
}

/** As the real ones do: without access there is no such repository. */
function serveGit(state: GitHostState, url: URL, request: IncomingMessage, response: ServerResponse): void {
  const refuse = (status: number) => {
    request.resume()
    const headers: Record<string, string> =
      status === 401 ? { 'www-authenticate': 'Basic realm="git"', 'content-type': 'text/plain' } : {}
    send(response, { status, body: 'The git host refuses.', headers }, state.now())
  }
  const basic = /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  const [, user, token = ''] = /^([^:]*):(.*)$/.exec(Buffer.from(basic ?? '', 'base64').toString()) ?? []
  const grant = user ? findGrant(state, token) : null
  if (!grant) return void refuse(401)
  const path =
    /^\/(.+?)(\.git)?\/(info\/refs|info\/lfs\/.*|git-upload-pack|git-receive-pack|HEAD|objects\/.*)$/.exec(
      url.pathname,
    )?.[1]
  if (!path || !mayReach(grant, path) || !findRepository(state, path)) return void refuse(404)
  if (state.lfs && url.pathname.includes('/info/lfs/'))
    return void answerLfs(state, grant, url, request, response)
  const pushes =
    url.pathname.endsWith('/git-receive-pack') || url.searchParams.get('service') === 'git-receive-pack'
  if (pushes && grant.contents !== 'write') return void refuse(403)
  runBackend(state.options.root, request, response, { push: true })
}
