import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ModelSettings } from '../../src/harness/models.ts'
import { event } from './provider-server.ts'

export type Body = Record<string, unknown>

/** How a provider refuses what it does not take, in its own words. */
export interface WireError {
  status: number
  body: unknown
}

/** A provider as its documentation and its users describe it: what it takes, how it refuses the rest, and how it answers. */
export interface Wire {
  /** `provider/model`. */
  model_id: string
  /** What leads a service to the stand-in at this address. */
  settings(url: string): ModelSettings
  /** Variables of the machine, as a role sets them. */
  env?(url: string): Record<string, string>
  /** Of the requests that ask for an answer. */
  path: string
  /** Why it does not take the request; `null`: it does. */
  refuse(body: Body, headers: IncomingMessage['headers']): WireError | null
  /** How often the model has got a result. */
  results(body: Body): number
  /** The whole stream of one answer: some reasoning and this call, or the last words. */
  answer(step: WireStep): Array<string | Buffer>
  content_type?: string
}

export type WireStep =
  | { turn: number; reasoning: string; call: { id: string; name: string; input: object } }
  | { turn: number; reasoning: string; text: string }

export interface WireServer extends AsyncDisposable {
  url: string
  /** What was taken. */
  bodies: Body[]
  /** Paths of requests, answered or not. */
  paths: string[]
  refused: WireError[]
}

/** Calls of the model before it has done. */
export const CALLS = 4
export const LAST_WORDS = 'Counted to four.'

/** A strict stand-in for one provider: the model runs four commands, thinking each time, and says that it is done. */
export async function openWireServer(wire: Wire): Promise<WireServer> {
  const bodies: Body[] = []
  const paths: string[] = []
  const refused: WireError[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '', 'http://x')
    paths.push(pathname)
    const role = answerRole(pathname)
    if (role) return send(response, { status: 200, body: role })
    if (decodeURIComponent(pathname) !== wire.path)
      return send(response, { status: 404, body: { error: { message: `Nothing is at ${pathname}.` } } })
    const body = (await json(request)) as Body
    const refusal = wire.refuse(body, request.headers)
    if (refusal) {
      refused.push(refusal)
      return send(response, refusal)
    }
    bodies.push(body)
    const turn = wire.results(body)
    const reasoning = `Now number ${turn + 1}.`
    const call = { id: `call_${turn}_of_wire`, name: 'bash', input: { command: `echo number ${turn + 1}` } }
    response.writeHead(200, { 'content-type': wire.content_type ?? 'text/event-stream' })
    for (const piece of wire.answer(
      turn < CALLS ? { turn, reasoning, call } : { turn, reasoning, text: LAST_WORDS },
    ))
      response.write(piece)
    response.end()
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, paths, refused },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const send = (response: ServerResponse, { status, body }: WireError): void => {
  response
    .writeHead(status, { 'content-type': 'application/json', 'metadata-flavor': 'Google' })
    .end(JSON.stringify(body))
}

/** What machines of Amazon and Google answer for their roles. */
function answerRole(pathname: string): object | null {
  if (pathname === '/role')
    return {
      ...{ AccessKeyId: 'AKIDROLE', SecretAccessKey: 'of-the-role', Token: 'role-session' },
      Expiration: '2999-01-01T00:00:00Z',
    }
  if (pathname.endsWith('/service-accounts/default/token'))
    return { access_token: 'ya29.of-the-machine', expires_in: 3_600, token_type: 'Bearer' }
  return pathname.startsWith('/computeMetadata/') ? { universe_domain: 'googleapis.com' } : null
}

export const isRecord = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const recordsOf = (value: unknown): Body[] => (Array.isArray(value) ? value.filter(isRecord) : [])

/** The first field that is not among those. */
export const unknownIn = (value: unknown, known: readonly string[]): string | undefined =>
  isRecord(value) ? Object.keys(value).find((name) => !known.includes(name)) : undefined

/** A server-sent event with its type twice. */
export const named = (type: string, data: Body): string => event({ type, ...data }, type)

export const calling = (name: string, text: string) => ({
  type: 'function',
  function: { name, arguments: text },
})
