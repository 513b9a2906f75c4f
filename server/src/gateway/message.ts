/** What is the same of every HTTP message that is passed on. */
import type { ClientRequest } from 'node:http'
import type { Readable } from 'node:stream'

/** Headers that concern one connection only (RFC 9110 §7.6.1). */
export const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Raw headers as they came, in pairs, without those of one connection, without `Host` and without `more`, in lower case. */
export function endToEnd(raw: string[], more: readonly string[] = []): string[] {
  const pairs = Array.from({ length: raw.length / 2 }, (_, at): [string, string] => [
    raw[at * 2] ?? '',
    raw[at * 2 + 1] ?? '',
  ])
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(/\s*,\s*/))
    .filter((name) => name !== 'content-length')
  const dropped = new Set([...HOP_BY_HOP, 'host', ...more, ...named])
  return pairs.filter(([name]) => !dropped.has(name.toLowerCase())).flat()
}

/**
 * Sends the body of a POST, and that of nothing else: Node sends one without its length then, and a server may take that for
 * another request of ours, on the connection that holds the credential. A server that answers early may close: what is still to
 * be sent is then read and dropped, so that who sends it reads the answer.
 */
export function sendBody(body: Readable, outgoing: ClientRequest): void {
  if (outgoing.method !== 'POST') {
    body.resume()
    outgoing.end()
    return
  }
  body.pipe(outgoing)
  outgoing.once('close', () => {
    body.unpipe(outgoing)
    body.resume()
  })
}
