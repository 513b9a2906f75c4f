import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { explainFailure, lookupOf, openDirectory, Unreachable } from './dial.ts'
import { isPrivateHost, judgeTarget, makeRefusal, readTarget, type Target } from './egress-rules.ts'
import type { EgressRules } from './gateway.ts'

const MAX_BYTES = 1024 ** 2
const LIMIT_MS = 30_000

/** As `fetch` takes it, and nothing else of it. */
export interface CheckedRequest {
  method?: string
  headers?: Record<string, string>
  body?: string
  /** Ends it, as if nobody had answered. */
  signal?: AbortSignal
}

export type CheckedFetch = (url: string, init?: CheckedRequest) => Promise<Response>

export interface FetchLimits {
  /** Of an answer's body. */
  max_bytes?: number
  /** From the request until its answer was read. */
  limit_ms?: number
  /** Hosts that need not be public may be asked without TLS. */
  plain?: boolean
  /** Names that are looked up at once; whoever asks for more is refused. Default 8. */
  max_lookups?: number
  /** The status is the answer: a body that is too long, too slow or cut is left where it is. */
  status_alone?: boolean
  /** Certificates that are trusted in place of the machine's, as PEM. */
  ca?: string
}

/**
 * A `fetch` that goes where the rules allow, by https alone, and to the very address that was checked. It follows no redirect:
 * what it sends holds credentials. The answer's body was read when it resolves. Throws `Refused`; `Unreachable` also where an
 * answer is too long, takes too long or is none.
 */
export function createCheckedFetch(rules: EgressRules, limits: FetchLimits = {}): CheckedFetch {
  const findAddresses = openDirectory(rules, limits.max_lookups)
  const { max_bytes = MAX_BYTES, limit_ms = LIMIT_MS, plain = false, status_alone = false, ca } = limits

  return async (text, { method = 'GET', headers = {}, body, signal } = {}) => {
    const { url, target, is_plain } = readAddress(rules, text, plain)
    const late = AbortSignal.timeout(limit_ms)
    const over = signal ? AbortSignal.any([late, signal]) : late
    const addresses = await findAddresses(target)
    const explain = (error: unknown) =>
      error instanceof Unreachable
        ? error
        : late.aborted
          ? new Unreachable(`${target.host}:${target.port} did not answer in time.`)
          : explainFailure(target, error)
    try {
      return await new Promise<Response>((resolve, reject) => {
        const asking = (is_plain ? requestHttp : requestHttps)({
          ...{ ...target, path: `${url.pathname}${url.search}`, method, headers, signal: over },
          // An agent of its own: nobody else's connection, and no proxy of the environment.
          ...{ agent: false, lookup: lookupOf(addresses), ...(ca ? { ca } : {}) },
        })
        let heard = false
        asking.on('error', (error) => {
          if (!heard) reject(error)
        })
        asking.once('response', (response) => {
          heard = status_alone
          readBody(response, target, max_bytes)
            .catch((error: unknown) => {
              if (status_alone) return Buffer.alloc(0)
              throw error
            })
            .then((bytes) => answerOf(response, bytes))
            .then(resolve, reject)
        })
        asking.end(body)
      })
    } catch (error) {
      throw explain(error)
    }
  }
}

/** Throws `Unreachable` where it is none that may be asked. */
function readAddress(
  rules: EgressRules,
  text: string,
  plain: boolean,
): { url: URL; target: Target; is_plain: boolean } {
  const url = URL.parse(text)
  const is_plain = plain && url?.protocol === 'http:'
  const has_scheme = is_plain || url?.protocol === 'https:'
  const target =
    has_scheme && !url?.username && !url?.password && readTarget(url?.host ?? '', is_plain ? 80 : 443)
  if (url && target && (!is_plain || isPrivateHost(rules, target))) return { url, target, is_plain }
  throw new Unreachable(
    plain
      ? 'Only https addresses can be used. Plain http needs the host in RUNYARD_PRIVATE_HOSTS, with this port; without a port it stands for 80 and 443.'
      : 'Only https addresses can be used, without a user name in them.',
  )
}

/** Why a checked fetch by these rules never asks an address, wherever its name leads; `null`: it may. */
export function whyNeverAsked(
  rules: EgressRules,
  text: string,
  { plain = false }: FetchLimits,
): string | null {
  try {
    const { target } = readAddress(rules, text, plain)
    const reason = judgeTarget(rules, target)
    return reason && makeRefusal(target, reason).message
  } catch (error) {
    if (error instanceof Unreachable) return error.message
    throw error
  }
}

async function readBody(response: IncomingMessage, target: Target, max_bytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length
    // Leaving the loop destroys the connection.
    if (size > max_bytes)
      throw new Unreachable(`${target.host}:${target.port} answers with more than ${max_bytes} bytes.`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Throws where the status is none that HTTP knows. */
function answerOf({ statusCode = 0, headersDistinct }: IncomingMessage, bytes: Buffer): Response {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value)
  const has_body = ![204, 205, 304].includes(statusCode)
  return new Response(has_body ? new Uint8Array(bytes) : null, { status: statusCode, headers })
}
