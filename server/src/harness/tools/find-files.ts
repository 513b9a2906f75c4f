import { TURN_STOPPED } from '../../log/interruption.ts'
import { collect } from '../collect.ts'
import type { Turn } from '../harness.ts'

const FIND_MS = 30_000
const FIND_BYTES = 16 * 1024 ** 2

export interface FoundFiles {
  /** Relative to the directory, sorted. */
  files: string[]
  /** There are more than could be read. */
  is_cut: boolean
  /** What could not be looked into. */
  unread?: string
}

/**
 * The files of a directory and of those below. In a repository those that git tracks or would add, else all but what lies in
 * `.git` and `node_modules`; with `ignored` all there are. A string says why there are none.
 */
export async function findFiles(
  turn: Turn,
  directory: string,
  { ignored = false } = {},
): Promise<FoundFiles | string> {
  const end = await collect(turn, {
    command: ignored ? ALL : COMMAND,
    cwd: directory,
    timeout_ms: FIND_MS,
    max_output_bytes: FIND_BYTES,
  })
  if (end.aborted) return TURN_STOPPED
  if (end.timed_out)
    return `Looking for files took longer than ${FIND_MS / 1_000} seconds: choose a smaller directory.`
  const problem = end.stderr.trim().split('\n', 1)[0]
  if (end.code !== 0 && end.stdout === '')
    return end.stderr.trim() || `Looking for files ended with exit code ${end.code}.`
  const names = end.stdout.split('\0')
  // What follows the last NUL, and where the middle was dropped two halves of a name.
  names.pop()
  const files = new Set(names.flatMap((name) => NAMED.exec(name)?.[1] ?? []))
  for (const name of names) files.delete(REMOVED.exec(name)?.[1] ?? '')
  return {
    files: [...files].sort(),
    is_cut: end.truncated_bytes > 0,
    ...(end.code !== 0 && problem && { unread: problem }),
  }
}

/** Behind git's mark, or find's `./`. */
const NAMED = /^(?:[A-Z?] |\.\/)(.+)$/s
/** Of those that git tracks. */
const REMOVED = /^R (.+)$/s
const COMMAND = `git ls-files -z -t --cached --others --deleted --exclude-standard 2>/dev/null ||
find . \\( -name .git -o -name node_modules \\) -prune -o -type f -print0`
const ALL = 'find . -type f -print0'
