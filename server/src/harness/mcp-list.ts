import { type Client, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isRecord } from '../contract/storable-text.ts'
import { tame } from './mcp-limits.ts'
import { givenResult } from './mcp-message.ts'

const MAX_PAGES = 200
/** Far more than are offered; of definitions that cannot be used as many are named. */
const MAX_LISTED = 2000
/** Of all definitions together, as JSON. Far more than are offered, too. */
const MAX_LISTED_CHARACTERS = 8 * 1024 ** 2
/** For one that did not say that it has tools, and may have some. */
const UNSAID_MS = 5000
const MAX_WHY = 300

export interface ToolDefinition {
  name: string
  description: string
  /** As the server gave it; `undefined`: it gave none. */
  input_schema: unknown
}

export interface ListedTools {
  tools: ToolDefinition[]
  /** Why others are not there, one sentence each. */
  left_out: string[]
}

/** A result, whatever is in it: what we need of it is read here. */
export const AnyResult = z.looseObject({})

/** All tools of a server. A definition that cannot be used costs itself alone, as does a page after the first. */
export async function listTools(client: Client, signal: AbortSignal): Promise<ListedTools> {
  const listed: ListedTools = { tools: [], left_out: [] }
  const seen = new Set<unknown>()
  const names = new Set<string>()
  let room = MAX_LISTED_CHARACTERS
  let cursor: unknown
  for (let page = 1; page <= MAX_PAGES && isRoom(listed); page += 1) {
    const result = await readPage(client, { page, cursor, signal, listed })
    if (!result) break
    // A page of 8 MiB can hold a million definitions.
    for (const [at, given] of result.tools.slice(0, MAX_LISTED).entries()) {
      room -= JSON.stringify(given)?.length ?? 0
      if (room < 0 || !isRoom(listed)) break
      readDefinition(given, at, listed, names)
    }
    if (room < 0 || result.tools.length > MAX_LISTED) {
      listed.left_out.push('more tools: its list is too long')
      break
    }
    cursor = result.next
    // An end is said in many ways, and a mark that comes back would never come to one.
    if (cursor === undefined || cursor === null || cursor === '' || cursor === false || seen.has(cursor))
      break
    seen.add(cursor)
  }
  return listed
}

const isRoom = ({ tools, left_out }: ListedTools): boolean =>
  tools.length < MAX_LISTED && left_out.length < MAX_LISTED

interface Page {
  page: number
  cursor: unknown
  signal: AbortSignal
  listed: ListedTools
}

/** `null`: there is none. */
async function readPage(
  client: Client,
  { page, cursor, signal, listed }: Page,
): Promise<{ tools: unknown[]; next: unknown } | null> {
  const said = client.getServerCapabilities()?.tools !== undefined
  const either = said ? signal : AbortSignal.any([signal, AbortSignal.timeout(UNSAID_MS)])
  const params = cursor === undefined ? {} : { params: { cursor } }
  try {
    const request = { method: 'tools/list', ...params }
    const result = await client.request(request, AnyResult, { signal: either, timeout: NEVER_MS })
    const { tools, nextCursor } = givenResult(result)
    if (Array.isArray(tools)) return { tools, next: nextCursor }
    throw new Error('its list of tools has no `tools`')
  } catch (error) {
    if (signal.aborted) throw error
    if (page > 1) {
      const why = error instanceof Error ? error.message : String(error)
      listed.left_out.push(`page ${page} of its list: ${tame(why, MAX_WHY)}`)
      return null
    }
    if (!said || (error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound))
      return null
    throw error
  }
}

/** The signal decides. */
export const NEVER_MS = 2 ** 31 - 1

function readDefinition(
  given: unknown,
  at: number,
  { tools, left_out }: ListedTools,
  names: Set<string>,
): void {
  const { name, description, inputSchema, input_schema, parameters } = isRecord(given) ? given : {}
  if (typeof name !== 'string' || name.trim() === '') {
    left_out.push(`the tool at place ${at + 1}: it has no name`)
    return
  }
  if (names.has(name)) {
    left_out.push(`${tame(name, 64)}: the server lists it twice`)
    return
  }
  names.add(name)
  tools.push({
    name,
    description: typeof description === 'string' ? description : '',
    // The other two are what the makers of models call it, and servers that pass tools on.
    input_schema: inputSchema ?? input_schema ?? parameters ?? undefined,
  })
}
