import picomatch from 'picomatch'
import { z } from 'zod'
import { findFiles } from './find-files.ts'
import { defineTool, failure, resolvePath, showName } from './tool.ts'

const MAX_FILES = 500

export const glob = defineTool({
  name: 'glob',
  description:
    'Finds files by their paths: `**/*.ts`, `src/**/test_*.py`, `{README,LICENSE}*`. Leaves out what git ignores, or where there ' +
    `is no repository .git and node_modules. Gives up to ${MAX_FILES} paths, sorted.`,
  input: z.object({
    pattern: z.string().min(1).max(500),
    path: z.string().min(1).max(4096).default('.').describe('The directory to look in.'),
  }),
  title: ({ pattern, path }) => `glob ${pattern}${path === '.' ? '' : ` in ${path}`}`,
  async run({ pattern, path }, { turn }) {
    const found = await findFiles(turn, resolvePath(turn, path))
    if (typeof found === 'string') return failure(found)
    // Nested quantifiers take time without end on names that somebody chose for it.
    const matches = picomatch(pattern.replace(/^\.\//, ''), { dot: true, noextglob: true, maxLength: 500 })
    const files = found.files.filter((file) => file.length <= 4096 && matches(file))
    const lines = files.slice(0, MAX_FILES).map(showName)
    if (files.length > MAX_FILES) lines.push(`[${files.length - MAX_FILES} more: narrow the pattern]`)
    if (found.is_cut) lines.push('[there are more files than could be looked at: narrow the path]')
    if (lines.length === 0) lines.push(`No file matches ${pattern}.`)
    if (found.unread) lines.push(`[${found.unread}]`)
    return { output: lines.join('\n'), is_error: false }
  },
})
