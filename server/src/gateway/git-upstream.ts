import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import { pipeline } from 'node:stream'
import { type Address, explainFailure, lookupOf, unreachable } from './dial.ts'
import type { Target } from './egress-rules.ts'
import { sendBody } from './message.ts'

/** Counting the objects of a large repository takes minutes, in which a server may say nothing. */
const SILENT_MS = 600_000
/** What git may say to the server, and the server to git. No cookies, no credentials. */
const ASKED = ['accept', 'content-type', 'content-encoding', 'git-protocol', 'user-agent'] as const
const ANSWERED = ['content-type', 'content-encoding', 'cache-control'] as const
const AGENT = new Agent({ keepAlive: false })

export interface GitUpstream {
  target: Target
  addresses: Address[]
  method: string
  /** From the first slash. */
  path: string
  authorization: string | null
  /** What was read of the body already, where there is one. */
  head: Buffer | null
}

/** Sends a request on and resolves with the head of its answer. Throws `Unreachable`. */
export function askUpstream(
  incoming: IncomingMessage,
  { target, addresses, method, path, authorization, head }: GitUpstream,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const outgoing = request({
    ...{ host: target.host, port: target.port, lookup: lookupOf(addresses), agent: AGENT },
    ...{ method, path, signal, timeout: SILENT_MS },
    headers: { ...pick(incoming.headers, ASKED), ...(authorization ? { authorization } : {}) },
  })
  outgoing.on('timeout', () => outgoing.destroy())
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve)
    outgoing.on('error', (error) => reject(explainFailure(target, error)))
    outgoing.once('close', () => reject(unreachable(target)))
  })
  if (head) outgoing.write(head)
  sendBody(incoming, outgoing)
  return answered
}

export function passAnswer(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, pick(answer.headers, ANSWERED))
  pipeline(answer, response, () => {})
}

const pick = (headers: IncomingHttpHeaders, names: readonly string[]): OutgoingHttpHeaders =>
  Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])))
