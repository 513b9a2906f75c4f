import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/client'
import { isRecord } from '../contract/storable-text.ts'
import { measureJson } from './mcp-limits.ts'

/** One message; a picture fits. */
export const MAX_MESSAGE_BYTES = 8 * 1024 ** 2
const INTERNAL_ERROR = -32603
const MAX_SHOWN = 200
const MAX_ERROR = 10_000
/** The oldest version: what we use of the protocol has not changed since. */
const OLDEST = '2024-11-05'
/** The newest that begins with a handshake: what a server names beyond it, it has answered in this one. */
const NEWEST = '2025-11-25'

type Id = string | number

/** The requests of a connection that wait for their answers. */
export class Asked {
  readonly #methods = new Map<string, { id: Id; method: string }>()

  add(message: unknown): void {
    if (!isRecord(message) || typeof message.method !== 'string') return
    const { id, method } = message
    if (typeof id === 'string' || typeof id === 'number') this.#methods.set(String(id), { id, method })
    // An answer that was given up may still come, and nobody waits for it.
    const { requestId } = method === CANCELLED && isRecord(message.params) ? message.params : {}
    if (requestId !== undefined) this.#methods.delete(String(requestId))
  }

  /** An answer without an id is to the last request: so JSON-RPC answers what could not be read. */
  find(id: unknown): { id: Id; method: string } | undefined {
    return id === null || id === undefined
      ? [...this.#methods.values()].at(-1)
      : this.#methods.get(String(id))
  }

  answered(id: Id): void {
    this.#methods.delete(String(id))
  }
}

const CANCELLED = 'notifications/cancelled'

/** The key under which a result stands as the server gave it: the client would refuse all of a list for one tool. */
const GIVEN = 'runyard/given'
export const givenResult = (result: unknown): Record<string, unknown> => {
  const given = isRecord(result) ? result[GIVEN] : undefined
  return isRecord(given) ? given : {}
}

/**
 * Reads what a server wrote as messages that the client takes. Servers in the field send batches, logs, ids as text, `null` for
 * what is optional and answers without `jsonrpc`; what is clear is repaired, what is no message is left out, and an
 * answer that cannot be understood becomes an error, so whoever waits for it hears so at once.
 */
export function readMessages(text: string, asked: Asked): JSONRPCMessage[] {
  const { is_deep: deep, is_manifold } = measureJson(text)
  // Parsing it would keep everybody else waiting.
  if (is_manifold) return refuseManifold(text, asked)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return []
  }
  return (Array.isArray(value) ? value : [value]).flatMap((each) => readMessage(each, { asked, deep, text }))
}

/** An id stands near the beginning or the end of a message; an answer whose id is not found there is to the last request. */
function refuseManifold(text: string, asked: Asked): JSONRPCMessage[] {
  const [, id = null] =
    /"id"\s*:\s*"?([^",}\s]{1,64})/.exec(`${text.slice(0, 200)} ${text.slice(-200)}`) ?? []
  const waiting = asked.find(id) ?? asked.find(null)
  if (!waiting) return []
  asked.answered(waiting.id)
  return [refusal(waiting.id, 'The answer of the tool server has more values than are read here.')]
}

/** In place of an answer that did not come, or is none. */
export const refusal = (id: Id, message: string, code = INTERNAL_ERROR): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
})

/** Why an answer is not taken, with its beginning. */
export const noAnswer = (text: string): string =>
  `The answer of the tool server is none that MCP has, or is nested too deeply. It begins with ${text.slice(0, MAX_SHOWN)}`

function readMessage(
  value: unknown,
  { asked, deep, text }: { asked: Asked; deep: boolean; text: string },
): JSONRPCMessage[] {
  if (!isRecord(value)) return []
  if (typeof value.method === 'string') return deep ? [] : readCall(value)
  if (!('result' in value) && !('error' in value)) return []
  const { id = null, jsonrpc } = value
  // A line of a log may have such fields too.
  const waiting = id === null && jsonrpc === undefined ? undefined : asked.find(id)
  if (!waiting) return []
  asked.answered(waiting.id)
  const failed = value.error ?? undefined
  if (failed !== undefined) return [readError(waiting.id, failed)]
  const result = deep ? undefined : repairResult(waiting.method, value.result)
  return [result ? { jsonrpc: '2.0', id: waiting.id, result } : refusal(waiting.id, noAnswer(text))]
}

/** A request or a notification of the server. */
function readCall({ jsonrpc, id, method, params }: Record<string, unknown>): JSONRPCMessage[] {
  if (jsonrpc === undefined || typeof method !== 'string') return []
  const has_id = typeof id === 'string' || typeof id === 'number'
  const message = { jsonrpc: '2.0', method, ...(has_id ? { id } : {}) }
  for (const given of [withoutNulls(params), undefined]) {
    try {
      return [parseJSONRPCMessage(given ? { ...message, params: given } : message)]
    } catch {
      // Of what nobody can read the rest may be of use.
    }
  }
  return []
}

const withoutNulls = (params: unknown): Record<string, unknown> | undefined =>
  isRecord(params)
    ? Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null))
    : undefined

function readError(id: Id, error: unknown): JSONRPCMessage {
  if (!isRecord(error))
    return refusal(id, typeof error === 'string' ? error : JSON.stringify(error).slice(0, MAX_ERROR))
  const { code, message } = error
  const said =
    typeof message === 'string' && message !== ''
      ? message
      : JSON.stringify(message || error).slice(0, MAX_ERROR)
  const number = Number(code)
  return refusal(id, said, Number.isSafeInteger(number) && code !== null ? number : INTERNAL_ERROR)
}

function repairResult(method: string, result: unknown): Record<string, unknown> | undefined {
  if (method === 'initialize') return isRecord(result) ? repairHandshake(result) : undefined
  if (method === 'tools/list') return give(Array.isArray(result) ? { tools: result } : result)
  if (method === 'tools/call') {
    const parts = typeof result === 'string' ? [{ type: 'text', text: result }] : result
    return give(Array.isArray(parts) ? { content: parts } : parts)
  }
  if (!isRecord(result)) return {}
  const { _meta, ...rest } = result
  return isRecord(_meta) ? { ...rest, _meta } : rest
}

function give(result: unknown): Record<string, unknown> | undefined {
  if (!isRecord(result)) return undefined
  // Asks for more, which the client answers itself.
  if (result.resultType === 'input_required') return result
  const empty = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', content: [], tools: [] }
  return { ...empty, [GIVEN]: result }
}

function repairHandshake(result: Record<string, unknown>): Record<string, unknown> {
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  const given = typeof protocolVersion === 'string' ? protocolVersion : ''
  const version = !/^\d{4}-\d\d-\d\d/.test(given) ? OLDEST : given > NEWEST ? NEWEST : given
  const { name, version: release } = isRecord(serverInfo) ? serverInfo : {}
  return {
    protocolVersion: version,
    capabilities: repairCapabilities(capabilities),
    serverInfo: { name: String(name ?? 'unnamed'), version: String(release ?? '0') },
    ...(typeof instructions === 'string' ? { instructions } : {}),
  }
}

/** What we use of them; the rest could only be refused. */
function repairCapabilities(given: unknown): Record<string, unknown> {
  const tools = isRecord(given) ? given.tools : undefined
  if (tools === undefined || tools === null || tools === false) return {}
  return { tools: isRecord(tools) && tools.listChanged === true ? { listChanged: true } : {} }
}
