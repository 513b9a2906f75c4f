import { z } from 'zod'
import { cutLine } from '../cut-text.ts'
import { readTextFile } from './text-file.ts'
import { defineTool, failure } from './tool.ts'

const MAX_LINES = 2000
const MAX_LINE_CHARACTERS = 2000
const MAX_CHARACTERS = 60_000

export const read = defineTool({
  name: 'read',
  description:
    'Reads a text file. Each line comes with its number and a tab in front, which are not part of the file. ' +
    `Gives at most ${MAX_LINES} lines at once: use offset and limit for a part of a long file.`,
  input: z.object({
    path: z.string().min(1).max(4096).describe('Relative paths start in the working directory.'),
    offset: z.int().min(1).max(10_000_000).default(1).describe('The first line, from 1.'),
    limit: z.int().min(1).max(MAX_LINES).default(MAX_LINES).describe('How many lines.'),
  }),
  title: ({ path }) => `read ${path}`,
  async run({ path, offset, limit }, { turn }) {
    const file = await readTextFile(turn, path)
    if ('refused' in file) return file.refused
    if (file.text === '') return { output: `(${path} is empty)`, is_error: false }
    // Models would copy the marks, which they cannot see, into what they write.
    const lines = file.text
      .replace(/^\ufeff/, '')
      .replaceAll('\r\n', '\n')
      .split('\n')
    if (lines.at(-1) === '') lines.pop()
    if (offset > lines.length) return failure(`${path} has only ${lines.length} lines.`)
    const shown: string[] = []
    let size = 0
    for (const line of lines.slice(offset - 1, offset - 1 + limit)) {
      const numbered = `${offset + shown.length}\t${cutLine(line, MAX_LINE_CHARACTERS, turn.mask)}`
      size += numbered.length + 1
      if (size > MAX_CHARACTERS) break
      shown.push(numbered)
    }
    const last = offset - 1 + shown.length
    if (last < lines.length)
      shown.push(`[lines ${offset} to ${last} of ${lines.length}; go on with offset ${last + 1}]`)
    if (file.text.includes('\r\n')) shown.push('[lines end with CRLF, which edit and write keep]')
    return { output: shown.join('\n'), is_error: false }
  },
})
