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
}

/**
 * The files of a directory and of those below. In a repository those that git tracks or would add, else all but what lies in
 * `.git` and `node_modules`. A string says why there are none.
 */
export async function findFiles(turn: Turn, directory: string): Promise<FoundFiles | string> {
  const end = await collect(turn, {
    command: COMMAND,
    cwd: directory,
    timeout_ms: FIND_MS,
    max_output_bytes: FIND_BYTES,
  })
  if (end.aborted) return TURN_STOPPED
  if (end.timed_out)
    return `Looking for files took longer than ${FIND_MS / 1_000} seconds: choose a smaller directory.`
  if (end.code !== 0) return end.stderr.trim() || `Looking for files ended with exit code ${end.code}.`
  const names = end.stdout.split('\0')
  // What follows the last NUL, and where the middle was dropped two halves of a name.
  names.pop()
  const files = names.map((name) => name.replace(/^\.\//, '')).filter((name) => name !== '')
  return { files: [...new Set(files)].sort(), is_cut: end.truncated_bytes > 0 }
}

const COMMAND = `git ls-files -z --cached --others --exclude-standard 2>/dev/null ||
find . \\( -name .git -o -name node_modules \\) -prune -o -type f -print0`
