import { randomUUID } from 'node:crypto'
import type { CallToolResult } from '@ai-sdk/mcp'
import { z } from 'zod'
import { SandboxFileError } from '../sandbox/sandbox.ts'
import type { ToolOutcome, Turn } from './harness.ts'
import { keepOutput, type OutputPlace } from './keep-output.ts'
import { tame } from './mcp-limits.ts'

const MAX_PARTS = 200
const MAX_FILE_BYTES = 6 * 1024 ** 2
const MAX_TEXT = 1024 ** 2

const Part = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string().optional() }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({
      uri: z.string(),
      mimeType: z.string().optional(),
      text: z.string().optional(),
      blob: z.string().optional(),
    }),
  }),
])
type Part = z.infer<typeof Part>

/** What a server answered as the model is told it. Files in it are kept as artifacts of the run, and named. */
export async function tellResult(place: OutputPlace, result: CallToolResult): Promise<ToolOutcome> {
  const { turn } = place
  const parts = 'content' in result && Array.isArray(result.content) ? result.content : []
  const told: string[] = []
  for (const given of parts.slice(0, MAX_PARTS)) {
    const part = Part.safeParse(given)
    told.push(part.success ? await tellPart(turn, part.data) : '[a part that is not known]')
  }
  if (parts.length > MAX_PARTS) told.push(`[${parts.length - MAX_PARTS} more parts left out]`)
  const rest = 'structuredContent' in result ? result.structuredContent : undefined
  const other = 'toolResult' in result ? result.toolResult : undefined
  // Servers repeat it as text, for those that do not know it.
  if (told.length === 0 && (rest ?? other) !== undefined) told.push(JSON.stringify(rest ?? other))
  const whole = told.join('\n')
  // Of a value that was cut nobody knows that it is one.
  const text = tame(whole.length > MAX_TEXT ? turn.mask(whole) : whole, MAX_TEXT)
  return {
    output: (await keepOutput(place, text.trimEnd())) || '(no output)',
    is_error: 'isError' in result && result.isError === true,
  }
}

async function tellPart(turn: Pick<Turn, 'sandbox'>, part: Part): Promise<string> {
  if (part.type === 'text') return part.text
  if (part.type === 'resource_link') return `[link: ${[part.name, part.uri].filter(Boolean).join(', ')}]`
  if (part.type !== 'resource') return keepFile(turn, part.type, part)
  const { uri, mimeType = 'application/octet-stream', text, blob } = part.resource
  if (blob !== undefined) return `${uri}: ${await keepFile(turn, 'file', { data: blob, mimeType })}`
  return `[${uri}]\n${text ?? ''}`
}

async function keepFile(
  { sandbox }: Pick<Turn, 'sandbox'>,
  what: string,
  { data, mimeType }: { data: string; mimeType: string },
): Promise<string> {
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
