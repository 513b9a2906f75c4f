import { z } from 'zod'
import { readFrontMatter } from './front-matter.ts'

/** Beyond it, a front matter is no description of a skill. */
const MAX_FRONT_MATTER = 16 * 1024

const FrontMatter = z.object({
  name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$/, 'must be 1 to 64 of a-z, 0-9 and -'),
  description: z.string().trim().min(1, 'is empty').max(1024, 'is over 1,024 characters'),
})

export interface SkillFile {
  name: string
  description: string
  /** What the agent is told. */
  text: string
}

/** A line of dashes; people indent it, put blank lines before it, and end it in the way of YAML. */
const FILE =
  /^\ufeff?\s*?-{3,}[ \t]*(?:\r\n?|\n)([\s\S]*?)(?:^|(?<=[\r\n]))[ \t]*(?:-{3,}|\.{3})[ \t]*(?:\r\n?|\n|$)([\s\S]*)$/

/** Reads a SKILL.md (agentskills.io): a front matter between two lines of `---`, then Markdown. */
export function parseSkill(content: string, folder: string): SkillFile | { error: string } {
  const lines = FILE.exec(content)
  if (!lines?.[1]?.trim()) return { error: 'It does not begin with a front matter between two lines of ---.' }
  const [, front = '', text = ''] = lines
  if (front.length > MAX_FRONT_MATTER) return { error: 'Its front matter is too long.' }
  const { fields, fault } = readFrontMatter(front, ['name', 'description'])
  const read = FrontMatter.safeParse({
    name: plainName(fields.get('name')) ?? folder,
    description: fields.get('description') ?? '',
  })
  if (!read.success && fault !== null && !(fields.get('description') ?? ''))
    return { error: `Its front matter is no YAML that is read here: ${clean(fault)}` }
  if (!read.success) {
    const [issue] = read.error.issues
    return { error: `${issue?.path.join('.') || 'The front matter'}: ${issue?.message ?? 'not valid'}.` }
  }
  const { name, description } = read.data
  if (name !== folder) return { error: `name: is "${name}", and its folder is "${folder}".` }
  if (text.trim() === '') return { error: 'It has no text.' }
  return { name, description: clean(description), text: text.trim() }
}

/** A title is written for a name: `Code Review` in the folder `code-review`. */
const plainName = (name: string | undefined): string | undefined =>
  name
    ?.trim()
    .toLowerCase()
    .replace(/[\s_]+/g, '-') || undefined

/** It is shown on terminals. */
const clean = (line: string): string => line.replace(/[\s\p{Cc}]+/gu, ' ').trim()

/**
 * Fills what the caller says into a skill's text: `$ARGUMENTS` is all of it, `$1` to `$9` are its words, where quotes keep words
 * together. Where it says nothing they are empty.
 */
export function fillArguments(text: string, prompt: string): string {
  const words = [...prompt.slice(0, MAX_WORDS).matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
  return text.replace(/\$(ARGUMENTS\b|[1-9](?!\d))/g, (_whole, which: string) =>
    which === 'ARGUMENTS' ? prompt.trim() : (words[Number(which) - 1] ?? ''),
  )
}

/** Characters in which words are looked for. */
const MAX_WORDS = 100_000
