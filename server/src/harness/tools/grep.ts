import { z } from 'zod'
import { TURN_STOPPED } from '../../log/interruption.ts'
import { collect } from '../collect.ts'
import { cutLine } from '../cut-text.ts'
import { defineTool, failure, isOdd, resolvePath } from './tool.ts'

const MAX_LINES = 250
const MAX_LINE_CHARACTERS = 400
const GREP_MS = 60_000
/** No match, which is an answer. */
const NOTHING = 1

export const grep = defineTool({
  name: 'grep',
  description:
    'Looks for a regular expression (extended POSIX syntax) in text files and gives path:line:text. Leaves out what git ignores, or ' +
    `where there is no repository .git and node_modules. Gives up to ${MAX_LINES} lines.`,
  input: z.object({
    pattern: z.string().min(1).max(2000),
    path: z.string().min(1).max(4096).default('.').describe('A file or a directory.'),
    ignore_case: z.boolean().default(false),
    files_only: z.boolean().default(false).describe('Only the paths of files that hold it.'),
    context: z.int().min(0).max(10).default(0).describe('Lines shown before and after each match.'),
  }),
  title: ({ pattern, path }) => `grep ${pattern}${path === '.' ? '' : ` in ${path}`}`,
  async run({ pattern, path, ignore_case, files_only, context }, { turn }) {
    const place = resolvePath(turn, path)
    const found = await turn.sandbox.stat(place)
    if (found === null) return failure(`${path} does not exist.`)
    if (found.type === 'other') return isOdd(path)
    const options = `-${ignore_case ? 'i' : ''}${files_only ? 'l' : 'n'}IE ${context > 0 ? `-C ${context} ` : ''}`
    const end = await collect(turn, {
      command:
        found.type === 'directory' ? commandIn(options) : `exec grep ${options}-e "$PATTERN" -- "$PLACE"`,
      cwd: found.type === 'directory' ? place : turn.run.cwd,
      env: { PATTERN: pattern, PLACE: place },
      timeout_ms: GREP_MS,
    })
    if (end.aborted) return failure(TURN_STOPPED)
    if (end.timed_out)
      return failure(`It took longer than ${GREP_MS / 1_000} seconds: choose a smaller path.`)
    const lines = end.stdout.split('\n').filter((line) => line !== '')
    const [problem = ''] = end.stderr.trim().split('\n', 1)
    const is_partial = /Permission denied$/.test(problem)
    if (lines.length === 0) {
      if (!is_partial && (end.code === null || end.code > NOTHING))
        return failure(end.stderr.trim() || `grep ended with exit code ${end.code}.`)
      lines.push(`No line of ${path} matches ${pattern}.`)
    }
    const shown = lines.slice(0, MAX_LINES).map((line) => cutLine(line, MAX_LINE_CHARACTERS, turn.mask))
    if (lines.length > MAX_LINES || end.truncated_bytes > 0)
      shown.push(
        `[${end.truncated_bytes > 0 ? 'many' : lines.length - MAX_LINES} more lines: narrow the pattern or the path]`,
      )
    if (is_partial) shown.push(`[${problem}]`)
    return { output: shown.join('\n'), is_error: false }
  },
})

/** git's own where there is a repository: it knows what is ignored. Its exit codes are those of grep. */
const commandIn = (options: string): string =>
  `if git rev-parse --is-inside-work-tree >/dev/null 2>&1
then exec git --no-pager grep --no-color --untracked ${options}-e "$PATTERN" -- .
else exec grep -r --exclude-dir=.git --exclude-dir=node_modules ${options}-e "$PATTERN" .
fi`
