import type { Output } from './output.ts'

/** What a binary patch needs, and a reader does not. */
const WHOLE_HASHES = /(?<=^index )([0-9a-f]{10})[0-9a-f]{30}\.\.([0-9a-f]{10})[0-9a-f]{30}/

/** Prints a patch on a terminal in the colours that git gives it. Binary data is one line. */
export function printPatch(patch: Buffer, { colors, write }: Output): void {
  let part: 'head' | 'hunk' | 'binary' = 'head'
  let binary_lines = 0
  const endBinary = (): void => {
    if (binary_lines > 0)
      write(`${colors.dim(`… ${binary_lines.toLocaleString('en')} lines of binary data`)}\n`)
    binary_lines = 0
  }
  for (const line of linesOf(patch)) {
    // A carriage return is part of what changed, and would hide what stands before it.
    const text = line.toString('utf8').replaceAll('\r', '^M')
    if (text.startsWith('diff --git ')) part = 'head'
    else if (part !== 'binary' && text.startsWith('@@ ')) part = 'hunk'
    if (part === 'binary') {
      if (text !== '') binary_lines += 1
      continue
    }
    endBinary()
    if (part === 'head') {
      write(`${colors.bold(text.replace(WHOLE_HASHES, '$1..$2'))}\n`)
      if (text === 'GIT binary patch') part = 'binary'
    } else write(`${paintLine(text, colors)}\n`)
  }
  endBinary()
}

function paintLine(text: string, colors: Output['colors']): string {
  if (text.startsWith('@@ ')) {
    const [range = text] = /^@@ .*? @@/.exec(text) ?? []
    return colors.cyan(range) + text.slice(range.length)
  }
  if (text.startsWith('+')) return colors.green(text)
  if (text.startsWith('-')) return colors.red(text)
  return text
}

function* linesOf(patch: Buffer): Generator<Buffer> {
  for (let start = 0; start < patch.length; ) {
    const end = patch.indexOf('\n', start)
    yield patch.subarray(start, end < 0 ? patch.length : end)
    start = end < 0 ? patch.length : end + 1
  }
}
