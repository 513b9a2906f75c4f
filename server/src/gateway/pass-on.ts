import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline, Transform } from 'node:stream'
import { type Address, lookupOf, unreachable } from './dial.ts'
import type { Target } from './egress-rules.ts'
import { endToEnd } from './message.ts'

/** Each request has a connection of its own: none meets what another has left there. */
const AGENT = new Agent({ keepAlive: false })

/** Sends a request to the target and its answer back, until the signal says that nobody waits. Throws `Unreachable`. */
export async function passOn(
  incoming: IncomingMessage,
  response: ServerResponse,
  to: { url: URL; target: Target; addresses: Address[]; signal: AbortSignal; idle_ms: number },
): Promise<void> {
  const { url, target, addresses, signal, idle_ms } = to
  // How long the body is must be said anew. Node would say nothing of a GET's, and what follows were another request.
  const is_chunked = incoming.headers['transfer-encoding'] !== undefined
  const outgoing = request({
    ...{ host: target.host, port: target.port, lookup: lookupOf(addresses), agent: AGENT },
    method: incoming.method,
    path: `${url.pathname}${url.search}`,
    headers: [
      ...endToEnd(incoming.rawHeaders),
      ...(is_chunked ? ['Transfer-Encoding', 'chunked'] : []),
      // The connection is not used again all the same; but a server that closes at once may take its answer with it.
      ...['Host', url.host, 'Connection', 'keep-alive'],
    ],
    setHost: false,
    signal,
  })
  outgoing.setTimeout(idle_ms, () => outgoing.destroy())
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', (answer) => (Number(answer.statusCode) < 200 ? reject() : resolve(answer)))
    outgoing.once('close', reject)
    // Nobody asked for another protocol: `Upgrade` was not passed on.
    outgoing.once('upgrade', (_answer, socket) => {
      socket.destroy()
      reject()
    })
  })
  const body = incoming.pipe(makePauses())
  body.pipe(outgoing)
  outgoing.on('error', () => {
    body.unpipe(outgoing)
    body.resume()
  })
  const answer = await answered.catch(() => {
    outgoing.destroy()
    throw unreachable(target)
  })
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders))
  pipeline(answer, response, () => {})
}

/**
 * A server may answer before it has read everything, and close. A write then fails and takes the unread answer with it, so
 * between two pieces there is time to read.
 */
const makePauses = (): Transform =>
  new Transform({ transform: (piece, _encoding, done) => void setImmediate(done, null, piece) })
