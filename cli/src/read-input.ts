import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { currentProcess, resolvePath } from './current-process.ts'
import { decodeText } from './decode-text.ts'
import { usageFailure } from './failure.ts'

const UNREADABLE: Partial<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
}

/** The bytes of a file named on the command line. */
export function readNamedFile(file: string): Buffer {
  try {
    return readFileSync(resolvePath(file))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw usageFailure(
      `Cannot read ${file}: ${UNREADABLE[code] ?? (error instanceof Error ? error.message : error)}.`,
    )
  }
}

/** Text from a file, or from standard input for `-`. */
export async function readText(file: string): Promise<string> {
  const bytes = file === '-' ? await buffer(currentProcess().stdin) : readNamedFile(file)
  const decoded = decodeText(bytes)
  if ('text' in decoded) return decoded.text
  throw usageFailure(`${nameOf(file)} is ${decoded.is}, not text in UTF-8 or UTF-16.`, decoded.hint)
}

const nameOf = (file: string): string => (file === '-' ? 'Standard input' : file)

/** A message given as words, as `-` for standard input, or as a file; undefined when it is given as none of them. */
export async function readMessage(
  words: readonly string[],
  file: string | undefined,
): Promise<string | undefined> {
  if (file !== undefined && words.length > 0) throw usageFailure('Give the text or --file, not both.')
  const source = file ?? (words.length === 1 && words[0] === '-' ? '-' : undefined)
  if (source === undefined) return words.length > 0 ? words.join(' ') : undefined
  return readText(source)
}

/** A JSON object from a file, or from standard input for `-`. */
export async function readJsonObject(file: string): Promise<Record<string, unknown>> {
  const content = await readText(file)
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {}
  throw usageFailure(`${nameOf(file)} does not hold a JSON object.`)
}
