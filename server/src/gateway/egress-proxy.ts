/**
 * The way out of one sandbox: an HTTP proxy that connects to what its rules allow and refuses everything else at once, with
 * a reason. CONNECT (RFC 9110 §9.3.6) for TLS, requests in absolute form (RFC 9112 §3.2.2) for plain HTTP. Names are looked up
 * here and the addresses that were checked are the ones that are dialled, so a name that changes its address gains nothing.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { asksForTls } from './client-hello.ts'
import { dial, openDirectory, Refused, Unreachable } from './dial.ts'
import { readTarget, type Target } from './egress-rules.ts'
import type { EgressRules, Refusal } from './gateway.ts'
import type { GitGateway } from './git-gateway.ts'
import { GIT_PREFIX } from './git-request.ts'
import type { ModelGateway } from './model-gateway.ts'
import { MODEL_PREFIX } from './model-request.ts'
import { passOn } from './pass-on.ts'

/** Connections of one sandbox at once; package managers open some twenty. */
const MAX_CONNECTIONS = 256
/** Requests that wait on one connection, and on all; apt sends ten before it reads. */
const MAX_PIPELINED = 16
const MAX_WAITING = 512
const HEADERS_MS = 60_000
const KEEP_ALIVE_MS = 30_000
/** A connection on which nothing moves for so long is over: its place is one of `MAX_CONNECTIONS`, and nobody else gives it up. */
export const IDLE_MS = 15 * 60_000
/** Who was refused gets so long to read why. */
const LINGER_MS = 5_000

/**
 * Makes the proxy; whoever made it makes it listen. `onRefusal` is told each time. `git` and `models` answer what is not
 * asked of a proxy but of the gateway itself.
 */
export function createEgressProxy(
  rules: EgressRules,
  onRefusal: (refusal: Refusal) => void,
  git: GitGateway | null = null,
  models: ModelGateway['answer'] | null = null,
  idle_ms = IDLE_MS,
): Server {
  const findAddresses = openDirectory(rules)
  /** What plain HTTP within a tunnel goes to. */
  const tunnels = new WeakMap<Duplex, Target>()
  const waiting = createWaiting()
  const server = createServer({
    ...{ requestTimeout: 0, headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS },
  })
  server.maxConnections = MAX_CONNECTIONS

  /** What to say, having told of it. */
  const answerTo = (error: unknown): { status: number; message: string } => {
    if (error instanceof Refused) onRefusal(error.refusal)
    const expected = error instanceof Refused || error instanceof Unreachable
    return {
      status: error instanceof Refused ? 403 : 502,
      message: expected ? error.message : 'The host could not be reached.',
    }
  }

  const findOwn = (path = ''): GitGateway | null => {
    if (path.startsWith(GIT_PREFIX)) return git
    return path.startsWith(MODEL_PREFIX) ? models : null
  }

  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy())
    let is_open = false
    const open = async () => {
      // A tunnel leads to one place.
      const target = tunnels.has(client) ? null : readTarget(incoming.url ?? '')
      if (!target) return answer(client, 400, 'CONNECT needs a host and a port.')
      try {
        const upstream = await dial(target, await findAddresses(target))
        upstream.on('error', () => upstream.destroy())
        client.once('close', () => upstream.destroy())
        if (client.destroyed) return void upstream.destroy()
        is_open = true
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        if (head.length > 0) client.unshift(head)
        if (await asksForTls(client, target)) return join(client, upstream, idle_ms)
        // Some clients tunnel plain HTTP as well. What it asks for must be seen.
        upstream.destroy()
        tunnels.set(client, target)
        server.emit('connection', client)
      } catch (error) {
        const { status, message } = answerTo(error)
        if (is_open) client.destroy()
        else answer(client, status, message)
      }
    }
    open().catch(() => client.destroy())
  })

  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    const { socket } = incoming
    const signal = waiting(socket, response)
    if (signal === null) return void socket.destroy()
    const forward = async () => {
      const tunnel = tunnels.get(socket)
      const own = tunnel ? null : findOwn(incoming.url)
      if (own) return own(incoming, response, signal)
      const url = URL.parse(tunnel ? `http://${incoming.headers.host}${incoming.url}` : (incoming.url ?? ''))
      const asked = url && (url.protocol === 'http:' ? readTarget(url.host, 80) : null)
      if (!asked)
        return refuse(response, 400, 'This is a proxy: it takes http addresses in full, and CONNECT.')
      try {
        if (tunnel && tunnel.host !== asked.host) throw new Refused(tunnel, 'server_name')
        const target = tunnel ?? asked
        const addresses = await findAddresses(target)
        await passOn(incoming, response, { url, target, addresses, signal, idle_ms })
      } catch (error) {
        const { status, message } = answerTo(error)
        refuse(response, status, message)
      }
    }
    forward().catch(() => response.destroy())
  })
  server.on('clientError', (_error, client) => {
    if (client.writable) answer(client, 400, 'This is no request that a proxy takes.')
  })
  return server
}

/**
 * Counts the requests that wait for their answers: gives each a signal that says that nobody waits any more, and `null` when
 * there are too many. Of answers that wait behind another Node does not say that their connection is gone.
 */
function createWaiting(): (socket: Socket, response: ServerResponse) => AbortSignal | null {
  const by_connection = new WeakMap<Socket, Set<AbortController>>()
  let all = 0
  const watch = (socket: Socket): Set<AbortController> => {
    const requests = new Set<AbortController>()
    by_connection.set(socket, requests)
    socket.once('close', () => {
      all -= requests.size
      for (const each of requests) each.abort()
      requests.clear()
    })
    return requests
  }
  return (socket, response) => {
    const requests = by_connection.get(socket) ?? watch(socket)
    const each = new AbortController()
    requests.add(each)
    all += 1
    response.once('close', () => {
      if (requests.delete(each)) all -= 1
      each.abort()
    })
    return requests.size > MAX_PIPELINED || all > MAX_WAITING ? null : each.signal
  }
}

function join(client: Socket, upstream: Socket, idle_ms: number): void {
  const done = () => {}
  // What moves passes both, so one says it of both. The pipelines take the other one with it.
  client.setTimeout(idle_ms, () => client.destroy())
  pipeline(client, upstream, done)
  pipeline(upstream, client, done)
}

/** The reason is in the status line too: many clients show nothing else of an answer to CONNECT. */
function answer(client: Duplex, status: number, message: string): void {
  client.end(
    `HTTP/1.1 ${status} ${message}\r\nContent-Type: text/plain\r\nContent-Length: ${message.length + 1}\r\nConnection: close\r\n\r\n${message}\n`,
  )
  client.resume()
  const timer = setTimeout(() => client.destroy(), LINGER_MS)
  client.once('close', () => clearTimeout(timer))
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy()
  response
    .writeHead(status, message, { 'content-type': 'text/plain', connection: 'close' })
    .end(`${message}\n`)
}
