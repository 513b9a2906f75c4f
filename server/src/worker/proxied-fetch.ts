import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { decodePercent } from '../contract/percent.ts'

/** Of one answer, however long it is streamed. */
const MAX_BYTES = 64 * 1024 ** 2

/**
 * A `fetch` to one origin through the proxy that listens on a Unix socket, which decides where it may go. It follows no redirect
 * and goes nowhere else, since what it sends may hold credentials; one is returned where they are `shown`. It rejects with an `Error` that says why, in words for a person.
 */
export function createProxiedFetch(
  openSocket: () => Promise<string>,
  origin: string,
  redirects: 'refused' | 'shown' = 'refused',
): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.origin !== origin) throw new Error(`Only ${origin} may be asked, not ${url.origin}.`)
    const signal = init.signal ?? undefined
    signal?.throwIfAborted()
    const socketPath = await openSocket()
    const headers = Object.fromEntries(new Headers(init.headers))
    // What was packed would have to be unpacked.
    const options = {
      method: init.method ?? 'GET',
      headers: { ...headers, 'accept-encoding': 'identity' },
    }
    const body = typeof init.body === 'string' ? init.body : undefined
    const cancel = signal ? { signal } : {}
    const asking =
      url.protocol === 'http:'
        ? requestHttp({
            ...options,
            ...cancel,
            ...{ socketPath, agent: false },
            path: stripUser(url),
            headers: { ...options.headers, host: url.host, ...authOf(url) },
          })
        : // Node would decode the user itself, and throw at what no address of now holds any more.
          requestHttps(stripUser(url), {
            ...options,
            ...cancel,
            headers: { ...options.headers, ...authOf(url) },
            // It is used where no agent is named.
            createConnection: await openTunnel(socketPath, url, signal),
          })
    const answer = await answerOf(asking, body)
    const { statusCode: status = 0 } = answer
    if (status >= 300 && status < 400 && status !== 304 && redirects !== 'shown') {
      answer.destroy()
      throw new Error(`${url.host} answers with a redirect, which is not followed.`)
    }
    return toResponse(answer, status)
  }
}

const stripUser = (url: URL): string => `${url.origin}${url.pathname}${url.search}`

const authOf = ({ username, password }: URL): Record<string, string> =>
  username || password
    ? {
        authorization: `Basic ${Buffer.from(`${decodePercent(username)}:${decodePercent(password)}`).toString('base64')}`,
      }
    : {}

/** TLS to the host itself within a tunnel (RFC 9110 §9.3.6). */
async function openTunnel(
  socketPath: string,
  url: URL,
  signal: AbortSignal | undefined,
): Promise<() => Socket> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const path = `${url.hostname}:${url.port || 443}`
  const asking = requestHttp({
    socketPath,
    method: 'CONNECT',
    path,
    headers: { host: path },
    agent: false,
    ...(signal ? { signal } : {}),
  })
  asking.end()
  const [answer, socket] = (await once(asking, 'connect')) as [IncomingMessage, Socket]
  asking.on('error', () => {})
  if (answer.statusCode !== 200) {
    socket.destroy()
    throw new Error(answer.statusMessage || 'The proxy refuses the connection.')
  }
  return () =>
    connectTls({ socket, ...(isIP(host) ? { host } : { servername: host }), ALPNProtocols: ['http/1.1'] })
}

function answerOf(asking: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    asking.once('response', resolve)
    asking.on('error', reject)
    asking.once('close', () => reject(new Error('The connection was closed without an answer.')))
    asking.end(body)
  })
}

function toResponse(answer: IncomingMessage, status: number): Response {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value)
  if ([204, 205, 304].includes(status)) {
    answer.resume()
    return new Response(null, { status, headers })
  }
  const capped = answer.pipe(new CappedStream())
  answer.once('error', (error) => capped.destroy(error))
  answer.once('aborted', () => capped.destroy(new Error('The answer broke off.')))
  capped.once('close', () => answer.destroy())
  return new Response(Readable.toWeb(capped) as ReadableStream, { status, headers })
}

class CappedStream extends Transform {
  #bytes = 0
  override _transform(
    piece: Buffer,
    _encoding: BufferEncoding,
    done: (error?: Error | null, data?: Buffer) => void,
  ): void {
    this.#bytes += piece.length
    if (this.#bytes > MAX_BYTES) done(new Error(`The answer has more than ${MAX_BYTES} bytes.`))
    else done(null, piece)
  }
}
