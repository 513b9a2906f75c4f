import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps, Agent as TlsAgent } from 'node:https'
import { Readable, Transform } from 'node:stream'
import { type Address, explainFailure, lookupOf, Unreachable, Unusable, unreachable } from './dial.ts'
import type { Target } from './egress-rules.ts'
import { HOP_BY_HOP } from './message.ts'

/** Storages look over what was sent before they answer. */
const SILENT_MS = 300_000
const AGENTS = { http: new Agent({ keepAlive: false }), https: new TlsAgent({ keepAlive: false }) }

export interface LfsCall {
  method: 'GET' | 'PUT' | 'POST'
  url: URL
  target: Target
  addresses: Address[]
  headers: Record<string, string>
  /** `bytes`: exactly so many. */
  body?: { stream: Readable; bytes: number }
}

export const bodyOf = (text: string): { stream: Readable; bytes: number } => ({
  stream: Readable.from([Buffer.from(text)]),
  bytes: Buffer.byteLength(text),
})

/** Sends a request and resolves with the head of its answer. Throws `Unreachable`. */
export function askStorage(
  { method, url, target, addresses, headers, body }: LfsCall,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const is_tls = url.protocol === 'https:'
  const dropped = new Set([...HOP_BY_HOP, 'host', 'content-length', 'expect', 'accept-encoding'])
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name))
  const outgoing = (is_tls ? requestHttps : requestHttp)({
    ...{ host: target.host, port: target.port, lookup: lookupOf(addresses) },
    ...{ agent: is_tls ? AGENTS.https : AGENTS.http, method, signal, timeout: SILENT_MS },
    path: `${url.pathname}${url.search}`,
    headers: {
      ...Object.fromEntries(kept),
      // As it is, so that its length is the object's.
      ...{ host: url.host, 'accept-encoding': 'identity' },
      ...(body ? { 'content-length': body.bytes } : {}),
    },
  })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.once('response', resolve)
    outgoing.on('error', (error) =>
      reject(error instanceof Unreachable ? error : explainFailure(target, error)),
    )
    outgoing.once('close', () => reject(unreachable(target)))
    outgoing.once('upgrade', (_answer, socket) => socket.destroy())
  })
  if (body) sendExactly(body, outgoing)
  else outgoing.end()
  return answered
}

/** More or less than was said ends the request: what is over would be another one to the storage. */
function sendExactly(
  { stream, bytes }: { stream: Readable; bytes: number },
  outgoing: NodeJS.WritableStream & { destroy(error?: Error): void },
): void {
  let sent = 0
  const wrong = () => new Unusable('What was sent is not as long as the object.')
  const counted = new Transform({
    transform(piece: Buffer, _encoding, done) {
      sent += piece.length
      if (sent > bytes) done(wrong())
      else done(null, piece)
    },
    flush: (done) => done(sent === bytes ? null : wrong()),
  })
  counted.once('error', (error) => outgoing.destroy(error))
  stream.once('error', () => counted.destroy(wrong()))
  stream.pipe(counted).pipe(outgoing)
  // A storage that answers early may close: who sends still reads the answer.
  outgoing.once('close', () => {
    stream.unpipe(counted)
    stream.resume()
  })
}
