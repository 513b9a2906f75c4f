import { parsePatch as parseFiles, type StructuredPatch } from 'diff'

export interface DiffLine {
  kind: 'added' | 'removed' | 'same' | 'note'
  text: string
  old_line?: number
  new_line?: number
}
export interface Hunk {
  title: string
  lines: DiffLine[]
}

/** The hunks of a git patch by the path of their file: the new one, or that of a file that was deleted. */
export function parsePatch(patch: string): Map<string, Hunk[]> {
  return new Map(parseFiles(patch).map((file) => [pathOf(file), file.hunks.map(readHunk)]))
}

const pathOf = ({ oldFileName, newFileName }: StructuredPatch): string =>
  newFileName === undefined || newFileName === '/dev/null'
    ? (oldFileName ?? '').replace(/^a\//, '')
    : newFileName.replace(/^b\//, '')

function readHunk({ oldStart, oldLines, newStart, newLines, lines }: StructuredPatch['hunks'][number]): Hunk {
  let [old_line, new_line] = [oldStart, newStart]
  return {
    title: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
    lines: lines.map((line): DiffLine => {
      const text = line.slice(1)
      if (line.startsWith('+')) return { kind: 'added', text, new_line: new_line++ }
      if (line.startsWith('-')) return { kind: 'removed', text, old_line: old_line++ }
      if (line.startsWith('\\')) return { kind: 'note', text: text.trim() }
      return { kind: 'same', text, old_line: old_line++, new_line: new_line++ }
    }),
  }
}
