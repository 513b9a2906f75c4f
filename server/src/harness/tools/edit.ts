import { z } from 'zod'
import type { MaskText } from '../cut-text.ts'
import type { ToolOutcome } from '../harness.ts'
import { describeNearMiss } from './near-miss.ts'
import { replaceText } from './replace-text.ts'
import { readTextFile } from './text-file.ts'
import { defineTool, failure, resolvePath } from './tool.ts'

const MAX_EDITS = 50
const MAX_PLACES = 5

const Replacement = z.object({
  old_text: z.string(),
  new_text: z.string(),
  replace_all: z.boolean().default(false).describe('Everywhere in the file, not at one place.'),
})
type Replacement = z.output<typeof Replacement>

export const edit = defineTool({
  name: 'edit',
  description:
    'Replaces exact pieces of a text file. old_text must stand in the file exactly once (or set replace_all), with its ' +
    'indentation, and without the line numbers that read shows. Line ends may be written as \\n: lines keep their own, CRLF or LF. ' +
    'Give several replacements of one file in edits: they are made one after the other, all of them or none.',
  input: z
    .object({
      path: z.string().min(1).max(4096).describe('Relative paths start in the working directory.'),
      old_text: z.string().optional(),
      new_text: z.string().optional(),
      replace_all: z.boolean().optional(),
      edits: z.array(Replacement).max(MAX_EDITS).optional(),
    })
    .refine((given) => given.edits?.length || given.old_text !== undefined || given.new_text !== undefined, {
      error: 'give old_text and new_text, or edits',
    })
    // Some models fill in every field, with nothing where there is nothing to say.
    .refine(({ old_text, new_text, edits }) => !edits?.length || (!old_text && !new_text), {
      error: 'give old_text and new_text, or edits',
    })
    .refine(
      ({ old_text, new_text, edits }) =>
        edits?.length || (old_text === undefined) === (new_text === undefined),
      { error: 'old_text and new_text go together' },
    ),
  title: ({ path }) => `edit ${path}`,
  async run({ path, old_text = '', new_text = '', replace_all = false, edits }, { turn }) {
    const wanted: Replacement[] = edits?.length ? edits : [{ old_text, new_text, replace_all }]
    const file = await readTextFile(turn, path)
    if ('refused' in file) return file.refused
    let { text } = file
    const places: string[] = []
    for (const [at, replacement] of wanted.entries()) {
      const changed = replace(text, replacement, path, turn.mask)
      if ('is_error' in changed)
        return wanted.length === 1
          ? changed
          : failure(`Nothing was changed. Replacement ${at + 1} of ${wanted.length}: ${changed.output}`)
      text = changed.text
      places.push(changed.place)
    }
    await turn.sandbox.writeFile(resolvePath(turn, path), file.encode(text))
    return { output: `Changed ${path} at ${places.join(', ')}.`, is_error: false }
  },
})

function replace(
  text: string,
  replacement: Replacement,
  path: string,
  mask: MaskText,
): { text: string; place: string } | ToolOutcome {
  const { old_text, replace_all } = replacement
  if (old_text === '')
    return failure(
      'old_text is empty, so there is nothing to replace. To put text in, give a line there is as old_text and it with the new ones ' +
        'as new_text; to make a file or replace all of it, use write.',
    )
  const replaced = replaceText(text, replacement)
  if ('text' in replaced) {
    const { lines } = replaced
    return { text: replaced.text, place: replace_all ? `${lines.length} places` : `line ${lines[0]}` }
  }
  if (replaced.problem === 'same')
    return failure('old_text and new_text are the same, so nothing would change.')
  if (replaced.problem === 'missing')
    return failure(`old_text is not in ${path}. ${describeNearMiss(text, old_text, mask)}`)
  return failure(
    `old_text stands in ${path} more than once (${listLines(replaced.lines)}). Add lines around it to make it unique, or set replace_all.`,
  )
}

function listLines(lines: readonly number[]): string {
  if (lines.length > MAX_PLACES) return `lines ${lines.slice(0, MAX_PLACES).join(', ')} and more`
  return `lines ${lines.slice(0, -1).join(', ')} and ${lines.at(-1)}`
}
