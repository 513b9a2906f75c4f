import { z } from 'zod'
import { defineTool, failure, isOdd, resolvePath, showName } from './tool.ts'

const MAX_ENTRIES = 1000
const SIGNS = { directory: '/', symlink: '@', other: '?', file: '' } as const

export const list = defineTool({
  name: 'list',
  description: `Lists one directory, up to ${MAX_ENTRIES} names: those of directories end with "/", of links with "@". Use glob for whole trees.`,
  input: z.object({
    path: z.string().min(1).max(4096).default('.').describe('Relative paths start in the working directory.'),
  }),
  title: ({ path }) => `list ${path}`,
  async run({ path }, { turn }) {
    const place = resolvePath(turn, path)
    const found = await turn.sandbox.stat(place)
    if (found === null) return failure(`${path} does not exist.`)
    if (found.type === 'file') return failure(`${path} is a file. Read it with read.`)
    if (found.type === 'other') return isOdd(path)
    const entries = await turn.sandbox.listDirectory(place)
    if (entries.length === 0) return { output: `(${path} is empty)`, is_error: false }
    const lines = entries.slice(0, MAX_ENTRIES).map(({ name, type }) => `${showName(name)}${SIGNS[type]}`)
    if (entries.length > MAX_ENTRIES) lines.push(`[${entries.length - MAX_ENTRIES} more]`)
    return { output: lines.join('\n'), is_error: false }
  },
})
