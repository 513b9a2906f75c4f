import { z } from 'zod'
import { defineTool, failure, isOdd, resolvePath } from './tool.ts'

export const write = defineTool({
  name: 'write',
  description:
    'Writes a whole text file and makes its directories. Replaces what is there; use edit to change a part.',
  input: z.object({
    path: z.string().min(1).max(4096).describe('Relative paths start in the working directory.'),
    content: z.string(),
  }),
  title: ({ path }) => `write ${path}`,
  async run({ path, content }, { turn }) {
    const place = resolvePath(turn, path)
    const before = await turn.sandbox.stat(place)
    if (before?.type === 'directory') return failure(`${path} is a directory. Give the path of a file.`)
    if (before?.type === 'other') return isOdd(path)
    await turn.sandbox.writeFile(place, content)
    const done = before === null ? 'Created' : 'Replaced'
    return { output: `${done} ${path} (${Buffer.byteLength(content)} bytes).`, is_error: false }
  },
})
