import type { ToolOutcome, Turn } from '../harness.ts'
import { failure, isOdd, resolvePath } from './tool.ts'

const MAX_BYTES = 5 * 1024 * 1024

/** A whole text file of the workspace, or an outcome that tells the model why there is none. */
export async function readTextFile(
  turn: Turn,
  path: string,
): Promise<{ text: string } | { refused: ToolOutcome }> {
  const place = resolvePath(turn, path)
  const found = await turn.sandbox.stat(place)
  if (found === null)
    return { refused: failure(`${path} does not exist. Look for it with bash, such as ls or find.`) }
  if (found.type === 'directory')
    return { refused: failure(`${path} is a directory. List it with bash: ls -la.`) }
  if (found.type === 'other') return { refused: isOdd(path) }
  if (found.size > MAX_BYTES) {
    return {
      refused: failure(`${path} has ${found.size} bytes, too many. Use bash: sed, grep, head or tail.`),
    }
  }
  const data = await turn.sandbox.readFile(place, { max_bytes: MAX_BYTES })
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)
    if (!text.includes('\0')) return { text }
  } catch {
    // Not UTF-8: the same answer as for NUL bytes.
  }
  return { refused: failure(`${path} is not a UTF-8 text file. Use bash: file, strings or xxd.`) }
}
