import type { ToolOutcome, Turn } from '../harness.ts'
import { failure, isOdd, resolvePath } from './tool.ts'

const MAX_BYTES = 5 * 1024 * 1024
const BOM = '\ufeff'

export interface TextFile {
  /** With its byte order mark, where it has one. */
  text: string
  /** A text as the file holds it: in its encoding. */
  encode: (text: string) => string | Uint8Array
}

/** A whole text file of the workspace, or an outcome that tells the model why there is none. */
export async function readTextFile(turn: Turn, path: string): Promise<TextFile | { refused: ToolOutcome }> {
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
  return (
    decodeText(data) ?? {
      refused: failure(`${path} is not a UTF-8 text file. Use bash: file, strings or xxd.`),
    }
  )
}

/** UTF-16 only where a byte order mark says so. */
function decodeText(data: Buffer): TextFile | null {
  const mark = data.subarray(0, 2).toString('hex')
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(data)
    return text.includes('\0') ? null : { text, encode: ENCODERS[encoding] }
  } catch {
    return null
  }
}

const ENCODERS = {
  'utf-8': (text: string) => text,
  'utf-16le': (text: string) => Buffer.from(text, 'utf16le'),
  'utf-16be': (text: string) => Buffer.from(text, 'utf16le').swap16(),
}

/** A new text in the place of a file's whole one, with the line ends and the byte order mark that models forget. */
export function keepForm(before: string, text: string): { text: string; kept: string[] } {
  const kept: string[] = []
  let formed = text
  const ends = before.split('\n').length - 1
  if (
    ends > 0 &&
    before.split('\r\n').length - 1 === ends &&
    /(?<!\r)\n/.test(text) &&
    !text.includes('\r\n')
  ) {
    formed = formed.replaceAll('\n', '\r\n')
    kept.push('CRLF line ends')
  }
  if (before.startsWith(BOM) && !formed.startsWith(BOM)) {
    formed = BOM + formed
    kept.push('a byte order mark')
  }
  return { text: formed, kept }
}
