import { parsePatch as parseFiles, type StructuredPatch } from 'diff'

export interface DiffLine {
  kind: 'added' | 'removed' | 'same' | 'note'
  text: string
  old_line?: number
  new_line?: number
}
export interface Hunk {
  /** Lines before it that are the same, since the hunk before or the beginning of the file. */
  unchanged_before: number
  /** Number of its first line, in the new file. */
  start: number
  lines: DiffLine[]
}
/** What a patch holds of one file. */
export interface FilePart {
  hunks: Hunk[]
  /** What became of its mode, in words. */
  mode?: string
}

/** The parts of a git patch by the path of their file: the new one, or that of a file that was deleted. */
export function parsePatch(patch: string): Map<string, FilePart> {
  return new Map(parseFiles(patch).map((file) => [pathOf(file), readFile(file)]))
}

const pathOf = ({ oldFileName, newFileName }: StructuredPatch): string =>
  newFileName === undefined || newFileName === '/dev/null'
    ? (oldFileName ?? '').replace(/^a\//, '')
    : newFileName.replace(/^b\//, '')

/** The hunks up to so many lines: the same objects, and one that is cut where the limit lies inside of it. */
export function firstLines(hunks: readonly Hunk[], limit: number): readonly Hunk[] {
  const shown: Hunk[] = []
  let left = limit
  for (const hunk of hunks) {
    if (left <= 0) break
    shown.push(hunk.lines.length <= left ? hunk : { ...hunk, lines: hunk.lines.slice(0, left) })
    left -= hunk.lines.length
  }
  return shown
}

function readFile(file: StructuredPatch): FilePart {
  let next = 1
  const hunks = file.hunks.map((hunk): Hunk => {
    const unchanged_before = Math.max(0, hunk.oldStart - next)
    next = hunk.oldStart + hunk.oldLines
    return { unchanged_before, start: hunk.newStart, lines: readLines(hunk) }
  })
  const mode = describeMode(file.oldMode, file.newMode)
  return { hunks, ...(mode ? { mode } : {}) }
}

function readLines({ oldStart, newStart, lines }: StructuredPatch['hunks'][number]): DiffLine[] {
  let [old_line, new_line] = [oldStart, newStart]
  return lines.map((line): DiffLine => {
    const text = line.slice(1)
    if (line.startsWith('+')) return { kind: 'added', text, new_line: new_line++ }
    if (line.startsWith('-')) return { kind: 'removed', text, old_line: old_line++ }
    if (line.startsWith('\\')) return { kind: 'note', text: text.trim() }
    return { kind: 'same', text, old_line: old_line++, new_line: new_line++ }
  })
}

const KINDS: Record<string, string> = {
  '100644': 'a plain file',
  '100755': 'executable',
  '120000': 'a symbolic link',
  '160000': 'a submodule',
}

/** Git's modes in words: `now executable`. Undefined for a plain file that stays one. */
function describeMode(before: string | undefined, now: string | undefined): string | undefined {
  if (before === now || (before === undefined && now === '100644') || now === undefined) return undefined
  if (before === '100755' && now === '100644') return 'no longer executable'
  return before === undefined ? (KINDS[now] ?? `mode ${now}`) : `now ${KINDS[now] ?? `mode ${now}`}`
}
