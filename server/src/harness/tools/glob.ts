import { z } from 'zod'
import { findFiles } from './find-files.ts'
import { readPathPattern } from './path-pattern.ts'
import { defineTool, failure, resolvePath, showName } from './tool.ts'

const MAX_FILES = 500

export const glob = defineTool({
  name: 'glob',
  description:
    'Finds files by their paths: `**/*.ts`, `src/**/test_*.py`, `{README,LICENSE}*`, `app/(shop)/[id]/*`, `/etc/*.conf`. Leaves out ' +
    'what git ignores, or where there is no repository .git and node_modules, unless nothing else matches a pattern that names a ' +
    `folder or something hidden. Gives up to ${MAX_FILES} paths, sorted.`,
  input: z.object({
    pattern: z.string().min(1).max(500),
    path: z.string().min(1).max(4096).default('.').describe('The directory to look in.'),
  }),
  title: ({ pattern, path }) => `glob ${pattern}${path === '.' ? '' : ` in ${path}`}`,
  async run({ pattern, path }, { turn }) {
    const start = resolvePath(turn, path)
    const { directory, prefix, matches, is_precise } = readPathPattern(pattern, start)
    const there = await turn.sandbox.stat(start)
    if (there === null) return failure(`${path} does not exist.`)
    if (there.type === 'file') return failure(`${path} is a file. Give the directory to look in.`)
    const nothing = { output: `No file matches ${pattern}.`, is_error: false }
    if (directory !== start && (await turn.sandbox.stat(directory)) === null)
      return { ...nothing, output: `${nothing.output} (${directory} does not exist.)` }
    const look = async (ignored: boolean) => {
      const found = await findFiles(turn, directory, { ignored })
      return typeof found === 'string' ? found : { ...found, files: found.files.filter(matches) }
    }
    const kept = await look(false)
    if (typeof kept === 'string') return failure(kept)
    const others = kept.files.length === 0 && is_precise ? await look(true) : null
    if (typeof others === 'string') return failure(others)
    const is_ignored = others !== null && others.files.length > 0
    const { files, is_cut, unread } = is_ignored ? others : kept
    const lines = files.slice(0, MAX_FILES).map((file) => showName(prefix + file))
    if (files.length > MAX_FILES) lines.push(`[${files.length - MAX_FILES} more: narrow the pattern]`)
    if (is_cut) lines.push('[there are more files than could be looked at: narrow the path]')
    if (is_ignored) lines.push('[git ignores these, or they are below .git or node_modules]')
    if (lines.length === 0) lines.push(nothing.output)
    if (unread) lines.push(`[${unread}]`)
    return { output: lines.join('\n'), is_error: false }
  },
})
