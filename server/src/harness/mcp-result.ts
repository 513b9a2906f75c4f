import { SandboxFileError } from '../sandbox/sandbox.ts'
import { describePart } from './content-part.ts'
import type { ToolOutcome, Turn } from './harness.ts'
import { keepOutput, type OutputPlace } from './keep-output.ts'
import { tame } from './mcp-limits.ts'

const MAX_PARTS = 200
const MAX_TEXT = 1024 ** 2

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

async function tellGiven({ sandbox }: Pick<Turn, 'sandbox'>, given: unknown): Promise<string> {
  const { text, file, unkept } = describePart(given)
  if (!file) return text
  try {
    await sandbox.writeFile(file.path, file.bytes)
  } catch (error) {
    if (!(error instanceof SandboxFileError)) throw error
    return unkept(error.code)
  }
  return text
}
