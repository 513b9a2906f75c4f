import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps, Agent as TlsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import { Unreachable } from './dial.ts'
import type { ModelProvider } from './gateway.ts'
import { endToEnd, HOP_BY_HOP, sendBody } from './message.ts'

/** Not the sandbox's business: credentials, who pays, and what concerns one connection only. */
const DROPPED = new Set<string>([
  ...HOP_BY_HOP,
  ...['authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie', 'cookie2'],
  ...['openai-organization', 'openai-project'],
  ...['x-http-method-override', 'x-http-method', 'x-method-override'],
  ...['host', 'expect', 'content-length', 'forwarded', 'via', 'x-real-ip', 'x-host'],
  // What is counted has to be read.
  'accept-encoding',
])
/**
 * Google's choose who pays, and what of an answer is left out or how it is written: its usage, say. Some servers are led to
 * another path by the rest.
 */
const DROPPED_ALSO = /^x-(goog-(?!api-client$)|forwarded-|original-|rewrite-)/

/** Each request has a connection of its own: none meets what another has left there. */
const AGENTS = { http: new Agent({ keepAlive: false }), https: new TlsAgent({ keepAlive: false }) }

export interface ModelCall {
  /** Its name, for messages. */
  provider: string
  /** Behind the base URL, from the first slash. */
  path: string
  /** In place of the version at the end of the base URL, if there is one. */
  version: string | null
  to: ModelProvider
  body: Readable
  /** How long the provider may say nothing, in milliseconds, before its answer begins: asked when the body was sent. */
  silent_ms: () => number
}

/** The provider said nothing for too long. */
export class Silent extends Error {
  readonly silent_ms: number
  constructor(provider: string, silent_ms: number) {
    super(`The provider ${provider} said nothing for ${silent_ms / 1_000} seconds.`)
    this.silent_ms = silent_ms
  }
}

/** Sends a request on and resolves with the head of its answer. Throws `Unreachable`, `Silent`. */
export function askModel(
  incoming: IncomingMessage,
  { provider, path, version, to, body, silent_ms }: ModelCall,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const base = new URL(to.base_url)
  const is_tls = base.protocol === 'https:'
  const length = incoming.method === 'POST' ? incoming.headers['content-length'] : undefined
  const outgoing = (is_tls ? requestHttps : requestHttp)({
    ...{ protocol: base.protocol, host: base.hostname.replace(/^\[|\]$/g, ''), port: base.port },
    ...{ agent: is_tls ? AGENTS.https : AGENTS.http, signal, timeout: silent_ms() },
    ...{ method: incoming.method, path: `${placeOf(base, version)}${path}` },
    headers: {
      ...keptHeaders(incoming),
      ...(length === undefined ? {} : { 'content-length': length }),
      'accept-encoding': 'identity',
      ...(to.api_key === null ? {} : credential(to.api, to.api_key)),
    },
  })
  const gone = (cause?: Error) => new Unreachable(`The provider ${provider} could not be reached.`, { cause })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('timeout', () => {
      reject(new Silent(provider, silent_ms()))
      outgoing.destroy()
    })
    outgoing.once('finish', () => outgoing.setTimeout(silent_ms()))
    outgoing.once('response', resolve)
    outgoing.on('error', (error) => reject(gone(error)))
    outgoing.once('close', () => reject(gone()))
    // Nobody asked for another protocol.
    outgoing.once('upgrade', (_answer, socket) => {
      socket.destroy()
      reject(gone())
    })
  })
  sendBody(body, outgoing)
  body.once('error', () => outgoing.destroy())
  return answered
}

function placeOf({ pathname }: URL, version: string | null): string {
  const place = pathname.replace(/\/+$/, '')
  return version === null ? place : place.replace(/\/v1(alpha|beta)?$/, `/${version}`)
}

function credential(api: ModelProvider['api'], api_key: string): Record<string, string> {
  if (api === 'openai') return { authorization: `Bearer ${api_key}` }
  return { [api === 'anthropic' ? 'x-api-key' : 'x-goog-api-key']: api_key }
}

function keptHeaders({ headersDistinct, headers }: IncomingMessage): Record<string, string[]> {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/))
  return Object.fromEntries(
    Object.entries(headersDistinct).flatMap(([name, values]) =>
      DROPPED.has(name) || DROPPED_ALSO.test(name) || named.has(name) || values === undefined
        ? []
        : [[name, values]],
    ),
  )
}

/** Whose key it was. */
const WHOSE = ['openai-organization', 'openai-project', 'anthropic-organization-id']

/** Of an answer's headers, raw and in pairs, what the sandbox gets. */
export const answeredHeaders = ({ rawHeaders }: IncomingMessage, dropped: readonly string[] = []): string[] =>
  endToEnd(rawHeaders, ['set-cookie', 'set-cookie2', 'alt-svc', ...WHOSE, ...dropped])
