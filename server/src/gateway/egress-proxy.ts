/**
 * The way out of one sandbox: an HTTP proxy that connects to what its rules allow and refuses everything else at once, with
 * a reason. CONNECT (RFC 9110 §9.3.6) for TLS, requests in absolute form (RFC 9112 §3.2.2) for plain HTTP. Names are looked up
 * here and the addresses that were checked are the ones that are dialled, so a name that changes its address gains nothing.
 */
import { lookup } from 'node:dns/promises'
import {
  Agent,
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { getExtensionData, readTlsClientHello } from 'read-tls-client-hello'
import {
  type EgressRules,
  isPrivateHost,
  judgeTarget,
  makeRefusal,
  type Refusal,
  type RefusalReason,
  readTarget,
  type Target,
} from './egress-rules.ts'
import { isPublicAddress } from './public-address.ts'

/** Connections of one sandbox at once; package managers open some twenty. */
const MAX_CONNECTIONS = 256
const LOOKUP_MS = 10_000
const CONNECT_MS = 15_000
const HELLO_MS = 15_000
const HANDSHAKE = 0x16

/** Headers that concern one connection only (RFC 9110 §7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

type Address = { address: string; family: number }

class Refused extends Error {
  readonly refusal: Refusal
  constructor(target: Target, reason: RefusalReason) {
    const refusal = makeRefusal(target, reason)
    super(refusal.message)
    this.refusal = refusal
  }
}

/** What could not be done for a target that is allowed. */
class Unreachable extends Error {}

/** Makes the proxy; whoever made it makes it listen. `onRefusal` is told each time. */
export function createEgressProxy(rules: EgressRules, onRefusal: (refusal: Refusal) => void): Server {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS })
  /** What plain HTTP within a tunnel goes to. */
  const tunnels = new WeakMap<Duplex, Target>()
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 30_000 })
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

  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy())
    const open = async () => {
      const target = readTarget(incoming.url ?? '')
      if (!target) return answer(client, 400, 'CONNECT needs a host and a port.')
      try {
        const addresses = await findAddresses(rules, target)
        const upstream = await dial(target, addresses)
        upstream.on('error', () => upstream.destroy())
        client.once('close', () => upstream.destroy())
        if (client.destroyed) return void upstream.destroy()
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        if (head.length > 0) client.unshift(head)
        if (await asksForTls(client, target)) return join(client, upstream)
        // Some clients tunnel plain HTTP as well. What it asks for must be seen.
        upstream.destroy()
        tunnels.set(client, target)
        server.emit('connection', client)
      } catch (error) {
        const { status, message } = answerTo(error)
        if (client.bytesWritten === 0) answer(client, status, message)
        else client.destroy()
      }
    }
    open().catch(() => client.destroy())
  })

  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    const forward = async () => {
      const tunnel = tunnels.get(incoming.socket)
      const url = URL.parse(tunnel ? `http://${incoming.headers.host}${incoming.url}` : (incoming.url ?? ''))
      const target = url && (url.protocol === 'http:' ? readTarget(url.host, 80) : null)
      if (!target)
        return refuse(response, 400, 'This is a proxy: it takes http addresses in full, and CONNECT.')
      try {
        if (tunnel && tunnel.host !== target.host) throw new Refused(tunnel, 'server_name')
        const addresses = await findAddresses(rules, target)
        await passOn(incoming, response, { url, target: tunnel ?? target, addresses, agent })
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
  server.on('close', () => agent.destroy())
  return server
}

/** The addresses at which the target may be reached. Throws `Refused`, `Unreachable`. */
async function findAddresses(rules: EgressRules, target: Target): Promise<Address[]> {
  const reason = judgeTarget(rules, target)
  if (reason) throw new Refused(target, reason)
  const family = isIP(target.host)
  if (family) return [{ address: target.host, family }]
  const found = await Promise.race([
    lookup(target.host, { all: true }),
    new Promise<never>((_, reject) => setTimeout(reject, LOOKUP_MS, new Error('too late')).unref()),
  ]).catch(() => {
    throw new Unreachable(`The name ${target.host} could not be looked up.`)
  })
  if (isPrivateHost(rules, target)) return found
  const addresses = found.filter(({ address }) => isPublicAddress(address))
  if (addresses.length === 0) throw new Refused(target, 'not_public')
  return addresses
}

/** Node asks it for every name, and never for an address. */
const lookupOf =
  (addresses: Address[]): LookupFunction =>
  (_name, options, done) => {
    const [first] = addresses
    if (options.all) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  }

function dial(target: Target, addresses: Address[]): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, lookup: lookupOf(addresses), allowHalfOpen: true })
    const fail = () => {
      socket.destroy()
      reject(new Unreachable(`${target.host}:${target.port} could not be reached.`))
    }
    const timer = setTimeout(fail, CONNECT_MS)
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      resolve(socket)
    })
    socket.once('close', () => clearTimeout(timer))
  })
}

/**
 * Whether the client begins TLS; what it sent stays to be read. Throws `Refused` where it asks for another host than the one
 * that it named (RFC 6066 §3; of an address nobody asks). Who says nothing, or half of it, is not waited for.
 */
async function asksForTls(client: Socket, target: Target): Promise<boolean> {
  const leave = () => client.destroy()
  const timer = setTimeout(leave, HELLO_MS)
  client.once('end', leave)
  try {
    if ((await peek(client)) !== HANDSHAKE) return false
    const hello = await readTlsClientHello(client)
    const asked = getExtensionData(hello, 'sni')?.serverName?.toLowerCase()
    if (asked !== target.host && !(asked === undefined && isIP(target.host)))
      throw new Refused(target, 'server_name')
    return true
  } finally {
    clearTimeout(timer)
    client.off('end', leave)
  }
}

/** The first byte that the client sends. Rejects when it goes without one. */
function peek(client: Socket): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const data: Buffer | null = client.read()
      if (data === null) return
      client.off('readable', look)
      client.unshift(data)
      resolve(data[0])
    }
    client.on('readable', look)
    client.once('close', reject)
    look()
  })
}

function join(client: Socket, upstream: Socket): void {
  const done = () => {}
  pipeline(client, upstream, done)
  pipeline(upstream, client, done)
  upstream.once('close', () => client.destroy())
}

async function passOn(
  incoming: IncomingMessage,
  response: ServerResponse,
  to: { url: URL; target: Target; addresses: Address[]; agent: Agent },
): Promise<void> {
  const { url, target, addresses, agent } = to
  const outgoing = request({
    ...{ host: target.host, port: target.port, lookup: lookupOf(addresses), agent },
    method: incoming.method,
    path: `${url.pathname}${url.search}`,
    headers: [...endToEnd(incoming.rawHeaders), 'Host', url.host],
    setHost: false,
  })
  response.once('close', () => outgoing.destroy())
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
  })
  pipeline(incoming, outgoing, () => {})
  const answer = await answered.catch(() => {
    throw new Unreachable(`${target.host}:${target.port} could not be reached.`)
  })
  outgoing.on('error', () => response.destroy())
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders))
  pipeline(answer, response, () => {})
}

/** Raw headers as they came, in pairs, without those of one connection and without `Host`. */
function endToEnd(raw: string[]): string[] {
  const pairs = Array.from({ length: raw.length / 2 }, (_, at): [string, string] => [
    raw[at * 2] ?? '',
    raw[at * 2 + 1] ?? '',
  ])
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(/\s*,\s*/))
  const dropped = new Set([...HOP_BY_HOP, 'host', ...named])
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat()
}

/** The reason is in the status line too: many clients show nothing else of an answer to CONNECT. */
function answer(client: Duplex, status: number, message: string): void {
  client.end(
    `HTTP/1.1 ${status} ${message}\r\nContent-Type: text/plain\r\nContent-Length: ${message.length + 1}\r\nConnection: close\r\n\r\n${message}\n`,
  )
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy()
  response
    .writeHead(status, message, { 'content-type': 'text/plain', connection: 'close' })
    .end(`${message}\n`)
}
