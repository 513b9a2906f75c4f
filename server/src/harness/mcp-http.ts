import {
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { createParser } from 'eventsource-parser'
import { isRecord } from '../contract/storable-text.ts'
import { tame } from './mcp-limits.ts'
import { namesLostSession, reasonOf, tellsLostSession } from './mcp-lost-session.ts'
import { Asked, MAX_MESSAGE_BYTES, noAnswer, readMessages, refusal } from './mcp-message.ts'

/** The code of an error that stands for an answer that never came: none that the protocol or a server has. */
export const LOST = -32_899
/** A stream that ends may be asked for again so often at once, then so often once a second. */
const QUICK_RETURNS = 20
const SLOW_RETURNS = 200
const [QUICK_MS, SLOW_MS, MAX_RETURN_MS] = [50, 1000, 30_000]

export interface Address {
  url: string
  headers: Readonly<Record<string, string>>
  /** It decides where it may go. */
  fetch: typeof fetch
}

/**
 * Streamable HTTP (MCP 2025-11-25): the client's own transport, with answers repaired before it reads them, and an end
 * for every request whose stream ended without an answer that could be fetched later (`Last-Event-ID`, SEP-1699).
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #asked: Asked
  readonly #timers: Set<NodeJS.Timeout>

  constructor(address: Address) {
    const asked = new Asked()
    const timers = new Set<NodeJS.Timeout>()
    let returns = 0
    super(new URL(address.url), {
      ...optionsOf(address, tolerantFetch(address.fetch, asked)),
      reconnectionOptions: {
        ...{ initialReconnectionDelay: 500, maxReconnectionDelay: MAX_RETURN_MS },
        ...{ reconnectionDelayGrowFactor: 2, maxRetries: 5 },
      },
      // A server may name a time, and one that names none would have us come back without end.
      reconnectionScheduler(reconnect, delay) {
        returns += 1
        const least = returns > SLOW_RETURNS ? MAX_RETURN_MS : returns > QUICK_RETURNS ? SLOW_MS : QUICK_MS
        const timer = setTimeout(
          () => {
            timers.delete(timer)
            reconnect()
          },
          Math.min(Math.max(delay, least), MAX_RETURN_MS),
        )
        timers.add(timer)
        return () => clearTimeout(timer)
      },
    })
    this.#asked = asked
    this.#timers = timers
  }

  override async send(
    ...[message, options]: Parameters<StreamableHTTPClientTransport['send']>
  ): Promise<void> {
    const id = !Array.isArray(message) && 'method' in message && 'id' in message ? message.id : undefined
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.()
      if (id === undefined || !this.#asked.find(id)) return
      this.#asked.answered(id)
      this.onmessage?.(refusal(id, 'its answer ended too soon', LOST))
    }
    await super.send(message, { ...options, onRequestStreamEnd })
  }

  override async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    // What the server keeps for the session may go.
    if (this.sessionId) await this.terminateSession().catch(() => {})
    await super.close()
  }
}

/** HTTP with server-sent events, as the protocol had it until 2025-03-26: all answers come on one stream. */
export function openSseTransport(address: Address): SSEClientTransport {
  const asked = new Asked()
  const go = tolerantFetch(address.fetch, asked, {
    on_one_stream: true,
    // The stream is the session: on another one nobody waits for the answers of this one.
    onEnd: () => void transport.close(),
  })
  const transport = new SSEClientTransport(new URL(address.url), optionsOf(address, go))
  return transport
}

const optionsOf = ({ headers }: Address, go: typeof fetch) => ({
  fetch: go,
  requestInit: { headers: { 'user-agent': 'runyard', ...headers } },
  // It is left to our fetch, which follows none.
  redirectPolicy: 'follow' as const,
})

function tolerantFetch(
  go: typeof fetch,
  asked: Asked,
  { on_one_stream = false, onEnd }: { on_one_stream?: boolean; onEnd?: () => void } = {},
): typeof fetch {
  return async (input, init) => {
    const sent = init?.method === 'POST' ? readSent(init.body) : undefined
    asked.add(sent)
    const response = await go(input, { ...init, redirect: 'error' })
    const type = (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
    if (response.ok && type === 'text/event-stream' && response.body)
      return withBody(response, repairStream(response.body, { asked, ...(onEnd ? { onEnd } : {}) }))
    // A page for people would be read as a stream that has ended, and asked for again and again.
    if (init?.method === 'GET' && response.ok && !on_one_stream) return await noStream(response)
    if (!sent || on_one_stream) return response
    const { id, method } = sent
    return method !== undefined && (typeof id === 'string' || typeof id === 'number')
      ? await readAnswer(response, {
          id,
          asked,
          in_session: new Headers(init?.headers).has('mcp-session-id'),
        })
      : await readReceipt(response)
  }
}

function readSent(body: unknown): Record<string, unknown> | undefined {
  const sent: unknown = typeof body === 'string' ? JSON.parse(body) : undefined
  return isRecord(sent) ? sent : undefined
}

async function noStream(response: Response): Promise<Response> {
  await response.body?.cancel()
  return new Response(null, { status: 405 })
}

/** What a server says to a message that is no request changes nothing: the next request shows what is wrong. */
async function readReceipt(response: Response): Promise<Response> {
  if (response.status < 400) return response
  await response.body?.cancel()
  return new Response(null, { status: 202 })
}

/** An answer that is no stream, whatever it calls itself: an answer of the protocol, an error of HTTP, or neither. */
async function readAnswer(
  response: Response,
  { id, asked, in_session }: { id: string | number; asked: Asked; in_session: boolean },
): Promise<Response> {
  const text = await readText(response)
  if (text === null) return toAnswer(response, [refusal(id, 'it sent a message that is too long', LOST)])
  if (response.ok && /^(?:event|data|id|retry)?:/.test(text)) {
    const headers = { ...Object.fromEntries(response.headers), 'content-type': 'text/event-stream' }
    return new Response(repairText(text, asked), { headers })
  }
  // The answer comes on the session's own stream.
  if (response.status === 202 && text.trim() === '') return new Response(null, { status: 202 })
  // As an error of HTTP and not of the protocol, whose status nobody would hear of.
  if (in_session && tellsLostSession(response.status, text))
    return new Response(reasonOf(text), { status: response.status })
  if (!response.ok && !isOwnError(response.status, text))
    return new Response(text, { status: response.status, headers: response.headers })
  const messages = readMessages(text.replace(/^\ufeff/, ''), asked)
  if (messages.length > 0) return toAnswer(response, messages)
  asked.answered(id)
  const why =
    text.trim() === '' ? `it answered with ${response.status} and nothing else` : noAnswer(tame(text, 300))
  return toAnswer(response, [refusal(id, why)])
}

/** Servers answer with an error of the protocol under a status of HTTP. One about the session is not about the call. */
const isOwnError = (status: number, text: string): boolean =>
  ![401, 403, 404].includes(status) && !namesLostSession(reasonOf(text)) && /"error"\s*:/.test(text)

const toAnswer = (response: Response, messages: JSONRPCMessage[]): Response => {
  const session = response.headers.get('mcp-session-id')
  const headers = { 'content-type': 'application/json', ...(session ? { 'mcp-session-id': session } : {}) }
  return new Response(JSON.stringify(messages), { headers })
}

/** `null`: it is longer than a message may be. */
async function readText(response: Response): Promise<string | null> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > MAX_MESSAGE_BYTES) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const withBody = (response: Response, body: ReadableStream<Uint8Array>): Response =>
  new Response(body, { status: response.status, headers: response.headers })

interface Repair {
  asked: Asked
  onEnd?: () => void
}

function repairStream(
  body: ReadableStream<Uint8Array>,
  { asked, onEnd }: Repair,
): ReadableStream<Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let repaired: string[] = []
  let failure: Error | undefined
  const parser = repairer(
    asked,
    (text) => repaired.push(text),
    (error) => {
      failure = error
    },
  )
  const take = (text: string, controller: TransformStreamDefaultController<Uint8Array>) => {
    parser.feed(text)
    if (repaired.length > 0) controller.enqueue(encoder.encode(repaired.join('')))
    repaired = []
    if (failure) controller.error(failure)
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => take(decoder.decode(piece, { stream: true }), controller),
    // An event needs an empty line after it, which servers that close at once forget.
    flush: (controller) => take(`${decoder.decode()}\n\n`, controller),
  })
  const end = () => onEnd?.()
  void body.pipeTo(writable).then(end, end)
  return readable
}

function repairText(text: string, asked: Asked): string {
  const repaired: string[] = []
  const parser = repairer(
    asked,
    (event) => repaired.push(event),
    () => {},
  )
  parser.feed(`${text}\n\n`)
  return repaired.join('')
}

function repairer(asked: Asked, say: (event: string) => void, fail: (error: Error) => void) {
  return createParser({
    maxBufferSize: MAX_MESSAGE_BYTES,
    onRetry: (ms) => say(`retry: ${ms}\n\n`),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') fail(new Error('it sent a message that is too long'))
    },
    onEvent({ id, event, data }) {
      // The address for messages, in the old transport.
      if (event === 'endpoint') {
        say(`event: endpoint\ndata: ${data}\n\n`)
        return
      }
      const messages = data === '' ? [] : readMessages(data, asked)
      const mark = id === undefined ? '' : `id: ${id}\n`
      if (messages.length === 0 && mark) say(`${mark}data:\n\n`)
      for (const message of messages) say(`${mark}data: ${JSON.stringify(message)}\n\n`)
    },
  })
}
