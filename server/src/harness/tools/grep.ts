import { z } from 'zod'
import { TURN_STOPPED } from '../../log/interruption.ts'
import { cutLine } from '../cut-text.ts'
import { doubtPattern } from './search-pattern.ts'
import { findUnsearched, searchText } from './search-text.ts'
import { defineTool, failure, isOdd, resolvePath } from './tool.ts'

const MAX_LINES = 250
const MAX_LINE_CHARACTERS = 400
const MAX_UNSEARCHED = 20

export const grep = defineTool({
  name: 'grep',
  description:
    "Looks for a regular expression (Perl's syntax: \\d, \\b, lookarounds, (?i)) in each line of text files and gives path:line:text. " +
    'Leaves out what git ignores, unless path names it, or where there is no repository .git and node_modules. ' +
    `Gives up to ${MAX_LINES} lines.`,
  input: z.object({
    pattern: z.string().min(1).max(2000),
    path: z.string().min(1).max(4096).default('.').describe('A file or a directory.'),
    ignore_case: z.boolean().default(false),
    files_only: z.boolean().default(false).describe('Only the paths of files that hold it.'),
    context: z.int().min(0).max(10).default(0).describe('Lines shown before and after each match.'),
  }),
  title: ({ pattern, path }) => `grep ${pattern}${path === '.' ? '' : ` in ${path}`}`,
  async run({ pattern: given, path, ...options }, { turn }) {
    const pattern = given.replace(/(?<=.)\r?\n$/s, '')
    if (/[\r\n]/.test(pattern))
      return failure(
        'A pattern is one line, since one line at a time is looked at. Alternatives are written a|b.',
      )
    const place = resolvePath(turn, path)
    const found = await turn.sandbox.stat(place)
    if (found === null) return failure(`${path} does not exist.`)
    if (found.type === 'other') return isOdd(path)
    const end = await searchText(turn, { pattern, path: place, ...options })
    if ('aborted' in end) return failure(TURN_STOPPED)
    if ('refusal' in end) return failure(end.refusal)
    const { lines, left_out } = end
    const shown = lines.slice(0, MAX_LINES).map((line) => cutLine(line, MAX_LINE_CHARACTERS, turn.mask))
    if (lines.length > MAX_LINES || end.is_cut)
      shown.push(
        `[${end.is_cut ? 'many' : lines.length - MAX_LINES} more lines: narrow the pattern or the path]`,
      )
    if (lines.length === 0) {
      shown.push(`No line of ${path} matches ${pattern}.`)
      const doubt = doubtPattern(pattern)
      if (doubt !== null) shown.push(`[${doubt}]`)
      const unsearched = await findUnsearched(turn, place)
      if (unsearched.length > 0 && found.type === 'file') shown.push(`[${unsearched[0]}]`)
      else if (unsearched.length > 0)
        shown.push(
          `[in UTF-16, and searched only where path names one of them: ${unsearched.slice(0, MAX_UNSEARCHED).join(', ')}]`,
        )
    }
    shown.push(...left_out.map((problem) => `[${problem}]`))
    return { output: shown.join('\n'), is_error: false }
  },
})
