import { z } from 'zod'
import { keepForm, readTextFile } from './text-file.ts'
import { defineTool, failure, isOdd, resolvePath } from './tool.ts'

export const write = defineTool({
  name: 'write',
  description:
    'Writes a whole text file and makes its directories. Replaces what is there; use edit to change a part. A file that had CRLF ' +
    'line ends, a byte order mark or UTF-16 keeps them.',
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
    if (before === null) {
      await turn.sandbox.writeFile(place, content)
      return { output: `Created ${path} (${Buffer.byteLength(content)} bytes).`, is_error: false }
    }
    const file = await readTextFile(turn, path)
    const { text, kept } = 'refused' in file ? { text: content, kept: [] } : keepForm(file.text, content)
    const data = 'refused' in file ? content : file.encode(text)
    await turn.sandbox.writeFile(place, data)
    const as_before = kept.length === 0 ? '' : `, with ${kept.join(' and ')} as before`
    return { output: `Replaced ${path} (${Buffer.byteLength(data)} bytes${as_before}).`, is_error: false }
  },
})
