import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { isRecord } from '../contract/storable-text.ts'
import { SandboxFileError } from '../sandbox/sandbox.ts'
import type { ToolOutcome, Turn } from './harness.ts'
import { keepOutput, type OutputPlace } from './keep-output.ts'
import { tame } from './mcp-limits.ts'

const MAX_PARTS = 200
const MAX_FILE_BYTES = 6 * 1024 ** 2
const MAX_TEXT = 1024 ** 2
const MAX_UNKNOWN = 2000

const Text = z.string().nullish().catch(undefined)
const Part = z.union([
  z.object({ type: z.literal('text'), text: z.unknown().optional() }),
  z.object({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: Text }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: Text, description: Text }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({ uri: Text, mimeType: Text, text: Text, blob: Text }),
  }),
])
type Part = z.infer<typeof Part>

/**
 * What a server answered as the model is told it, whatever shape it has. Files in it are kept as artifacts of the run, and
 * named.
 */
export async function tellResult(place: OutputPlace, result: Record<string, unknown>): Promise<ToolOutcome> {
  const { turn } = place
  const { content, isError, structuredContent, toolResult } = result
  const parts = Array.isArray(content) ? content : content === undefined || content === null ? [] : [content]
  const told: string[] = []
  for (const given of parts.slice(0, MAX_PARTS)) told.push(await tellGiven(turn, given))
  if (parts.length > MAX_PARTS) told.push(`[${parts.length - MAX_PARTS} more parts left out]`)
  const rest = structuredContent ?? toolResult
  // Servers repeat it as text, for those that do not know it.
  if (told.every((part) => part.trim() === '') && rest !== undefined && rest !== null)
    told.push(typeof rest === 'string' ? rest : JSON.stringify(rest))
  const whole = told.join('\n')
  // Of a value that was cut nobody knows that it is one.
  const text = tame(whole.length > MAX_TEXT ? turn.mask(whole) : whole, MAX_TEXT)
  const is_error = isError === true || isError === 'true' || isError === 1
  const empty = is_error ? 'The tool failed and does not say why.' : '(no output)'
  return { output: (await keepOutput(place, text.trimEnd())) || empty, is_error }
}

async function tellGiven(turn: Pick<Turn, 'sandbox'>, given: unknown): Promise<string> {
  if (typeof given === 'string') return given
  const part = Part.safeParse(given)
  if (part.success) return tellPart(turn, part.data)
  if (!isRecord(given)) return given === null || given === undefined ? '' : JSON.stringify(given)
  if (typeof given.text === 'string') return given.text
  // What we do not know may mean something to the model.
  return `[a part of a kind that is not known: ${JSON.stringify(given).slice(0, MAX_UNKNOWN)}]`
}

async function tellPart(turn: Pick<Turn, 'sandbox'>, part: Part): Promise<string> {
  if (part.type === 'text') return tellText(part.text)
  if (part.type === 'resource_link')
    return `[link: ${[part.name, part.uri, part.description].filter(Boolean).join(', ')}]`
  if (part.type !== 'resource') return keepFile(turn, part.type, part)
  const { uri, mimeType, text, blob } = part.resource
  if (typeof blob === 'string')
    return `${uri || 'resource'}: ${await keepFile(turn, 'file', { data: blob, mimeType: mimeType ?? 'application/octet-stream' })}`
  return uri ? `[${uri}]\n${text ?? ''}` : (text ?? '')
}

const tellText = (text: unknown): string =>
  typeof text === 'string' ? text : text === null || text === undefined ? '' : JSON.stringify(text)

async function keepFile(
  { sandbox }: Pick<Turn, 'sandbox'>,
  what: string,
  given: { data: string; mimeType?: string | null | undefined },
): Promise<string> {
  // Some write the address that a page would have.
  const address = /^data:([^;,]*)[^,]*;base64,/.exec(given.data)
  const data = address ? given.data.slice(address[0].length) : given.data
  const mimeType = given.mimeType || address?.[1] || ''
  const type = /^[a-z0-9.+-]+\/([a-z0-9]{1,12})\b[a-z0-9.+-]*$/i.exec(mimeType)
  const bytes = Buffer.from(data, 'base64')
  const told = `${what}, ${type?.[0] ?? 'of unknown type'}, ${bytes.length} bytes`
  if (bytes.length > MAX_FILE_BYTES) return `[${told}: too large to keep]`
  const path = `/workspace/artifacts/${what}-${randomUUID().slice(0, 8)}.${type?.[1] ?? 'bin'}`
  try {
    await sandbox.writeFile(path, bytes)
  } catch (error) {
    if (!(error instanceof SandboxFileError)) throw error
    return `[${told}: it could not be kept, ${error.code}]`
  }
  return `[${told}, kept as ${path}]`
}
