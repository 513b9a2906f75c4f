import { z } from 'zod'
import { findText } from './find-text.ts'
import { readTextFile } from './text-file.ts'
import { defineTool, failure, resolvePath } from './tool.ts'

export const edit = defineTool({
  name: 'edit',
  description:
    'Replaces an exact piece of a text file. old_text must stand in the file exactly once, with its indentation and ' +
    'line ends, and without the line numbers that read shows.',
  input: z.object({
    path: z.string().min(1).max(4096).describe('Relative paths start in the working directory.'),
    old_text: z.string().min(1),
    new_text: z.string(),
  }),
  title: ({ path }) => `edit ${path}`,
  async run({ path, old_text, new_text }, { turn }) {
    if (old_text === new_text) return failure('old_text and new_text are the same, so nothing would change.')
    const file = await readTextFile(turn, path)
    if ('refused' in file) return file.refused
    const { text } = file
    const at = findText(text, old_text)
    if (at === -1) return failure(`old_text is not in ${path}. ${guessWhy(text, old_text)}`)
    const again = findText(text, old_text, at + 1)
    if (again !== -1) {
      const places = `lines ${lineOf(text, at)} and ${lineOf(text, again)}`
      return failure(
        `old_text stands in ${path} more than once (${places}). Add lines around it to make it unique.`,
      )
    }
    // Not String.replace: it would read `$&` and the like in the new text.
    const changed = text.slice(0, at) + new_text + text.slice(at + old_text.length)
    await turn.sandbox.writeFile(resolvePath(turn, path), changed)
    return { output: `Changed ${path} at line ${lineOf(text, at)}.`, is_error: false }
  },
})

const lineOf = (text: string, at: number) => text.slice(0, at).split('\n').length

function guessWhy(text: string, old_text: string): string {
  if (text.includes('\r\n') && findText(text.replaceAll('\r\n', '\n'), old_text) >= 0)
    return 'The file has CRLF line ends; old_text needs \\r\\n too.'
  const first = old_text
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim()
  const line =
    first === undefined ? -1 : text.split('\n').findIndex((candidate) => candidate.trim() === first)
  if (line === -1) return 'Read the file again: it may have changed.'
  return `Its first line resembles line ${line + 1}, but indentation or what follows differs. Read the file there.`
}
