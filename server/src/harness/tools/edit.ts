import { z } from 'zod'
import type { ToolOutcome } from '../harness.ts'
import { findText } from './find-text.ts'
import { readTextFile } from './text-file.ts'
import { defineTool, failure, resolvePath } from './tool.ts'

const MAX_EDITS = 50

const Replacement = z.object({
  old_text: z.string().min(1),
  new_text: z.string(),
  replace_all: z.boolean().default(false).describe('Everywhere in the file, not at one place.'),
})
type Replacement = z.output<typeof Replacement>

export const edit = defineTool({
  name: 'edit',
  description:
    'Replaces exact pieces of a text file. old_text must stand in the file exactly once (or set replace_all), with its indentation ' +
    'and line ends, and without the line numbers that read shows. Give several replacements of one file in edits: they are made ' +
    'one after the other, all of them or none.',
  input: z
    .object({
      path: z.string().min(1).max(4096).describe('Relative paths start in the working directory.'),
      old_text: z.string().min(1).optional(),
      new_text: z.string().optional(),
      replace_all: z.boolean().optional(),
      edits: z.array(Replacement).min(1).max(MAX_EDITS).optional(),
    })
    .refine(
      ({ old_text, new_text, edits }) =>
        (edits === undefined) !== (old_text === undefined && new_text === undefined),
      {
        error: 'give old_text and new_text, or edits',
      },
    )
    .refine(({ old_text, new_text }) => (old_text === undefined) === (new_text === undefined), {
      error: 'old_text and new_text go together',
    }),
  title: ({ path }) => `edit ${path}`,
  async run({ path, old_text, new_text, replace_all = false, edits }, { turn }) {
    const wanted: Replacement[] = edits ?? [
      { old_text: old_text ?? '', new_text: new_text ?? '', replace_all },
    ]
    const file = await readTextFile(turn, path)
    if ('refused' in file) return file.refused
    let { text } = file
    const places: string[] = []
    for (const [at, replacement] of wanted.entries()) {
      const changed = replace(text, replacement, path)
      if ('is_error' in changed)
        return wanted.length === 1
          ? changed
          : failure(`Nothing was changed. Replacement ${at + 1} of ${wanted.length}: ${changed.output}`)
      text = changed.text
      places.push(changed.place)
    }
    await turn.sandbox.writeFile(resolvePath(turn, path), text)
    return { output: `Changed ${path} at ${places.join(', ')}.`, is_error: false }
  },
})

function replace(
  text: string,
  { old_text, new_text, replace_all }: Replacement,
  path: string,
): { text: string; place: string } | ToolOutcome {
  if (old_text === new_text) return failure('old_text and new_text are the same, so nothing would change.')
  const at = findText(text, old_text)
  if (at === -1) return failure(`old_text is not in ${path}. ${guessWhy(text, old_text)}`)
  if (replace_all) return replaceAll(text, old_text, new_text)
  const again = findText(text, old_text, at + 1)
  if (again !== -1) {
    const places = `lines ${lineOf(text, at)} and ${lineOf(text, again)}`
    return failure(
      `old_text stands in ${path} more than once (${places}). Add lines around it to make it unique, or set replace_all.`,
    )
  }
  // Not String.replace: it would read `$&` and the like in the new text.
  return {
    text: text.slice(0, at) + new_text + text.slice(at + old_text.length),
    place: `line ${lineOf(text, at)}`,
  }
}

function replaceAll(text: string, old_text: string, new_text: string): { text: string; place: string } {
  const parts: string[] = []
  let from = 0
  for (let at = findText(text, old_text); at !== -1; at = findText(text, old_text, from)) {
    parts.push(text.slice(from, at))
    from = at + old_text.length
  }
  parts.push(text.slice(from))
  return { text: parts.join(new_text), place: `${parts.length - 1} places` }
}

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
