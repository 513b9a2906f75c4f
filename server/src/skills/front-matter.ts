import { FAILSAFE_SCHEMA, load } from 'js-yaml'

export interface FrontMatter {
  /** Each value as text, by its name in lower case. */
  fields: ReadonlyMap<string, string>
  /** Why it is no YAML; `null`: it is. */
  fault: string | null
}

/**
 * Reads a front matter as people write it. All of it is YAML where it can be; else each field is read by itself, and one that
 * is no YAML is the text that stands there: `description: Use when reviewing: x`. `names`: which fields are wanted.
 * Without aliases and tags, since a few aliases can stand for gigabytes, and with every value as text, since `name: 1e3` is
 * a name.
 */
export function readFrontMatter(front: string, names: readonly string[]): FrontMatter {
  const lines = front.replace(/\r\n?/g, '\n').replace(/^\t+/gm, (tabs) => '  '.repeat(tabs.length))
  const whole = read(lines)
  const known = 'value' in whole && isMap(whole.value) ? textsOf(whole.value) : new Map<string, string>()
  const fields = new Map(known)
  // With doubles the last one counts here too. Each is read once, since a front matter may be thousands of broken fields.
  const others = new Map(splitFields(lines).filter(([name]) => names.includes(name) && !known.has(name)))
  for (const [name, text] of others) {
    const alone = read(text)
    const given = 'value' in alone && isMap(alone.value) ? textsOf(alone.value).get(name) : undefined
    fields.set(name, given ?? plainText(text))
  }
  return { fields, fault: 'fault' in whole ? whole.fault : null }
}

const MAX_DEPTH = 32

function read(text: string): { value: unknown } | { fault: string } {
  try {
    // With doubles the last one counts, as in most readers.
    return { value: load(text, { maxAliases: 0, maxDepth: MAX_DEPTH, schema: FAILSAFE_SCHEMA, json: true }) }
  } catch (error) {
    const [why = ''] = error instanceof Error ? error.message.split('\n') : []
    return { fault: why.slice(0, 200) }
  }
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function textsOf(map: Record<string, unknown>): Map<string, string> {
  return new Map(
    Object.entries(map).flatMap(([name, value]) => {
      const text = textOf(value)
      return text === undefined ? [] : [[name.toLowerCase(), text]]
    }),
  )
}

/** `null` is no text, and has none. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return /^(?:null|~)?$/i.test(value.trim()) ? '' : value
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join(', ')
  return undefined
}

const FIELD = /^ {0,3}(?:"([^"]+)"|'([^']+)'|([A-Za-z_][\w.-]*))[^\S\n]*:(?:[^\S\n]|$)/

/** The lines of each field: its own, and those after it that are indented deeper or belong to a list. */
function splitFields(lines: string): Array<[name: string, text: string]> {
  const found: Array<[string, string[], number]> = []
  for (const line of lines.split('\n')) {
    const last = found.at(-1)
    const indent = line.length - line.trimStart().length
    const [, double, single, bare] = FIELD.exec(line) ?? []
    const name = double ?? single ?? bare
    if (name !== undefined && (!last || indent <= last[2] || isOwn(name, last)))
      found.push([name.toLowerCase(), [line.trimStart()], indent])
    else if (last && (indent > last[2] || line.trim() === '' || line.startsWith('- '))) last[1].push(line)
  }
  return found.map(([name, text]) => [name, text.join('\n')])
}

/** What a skill has to have, indented by mistake: the field before it has its text already. */
const isOwn = (name: string, [before, lines]: [string, string[], number]): boolean =>
  /^(?:name|description)$/i.test(name) && before !== name && /:[ \t]*[^\s|>]/.test(lines[0] ?? '')

/** What stands after the name, as one line without its quotes. */
function plainText(field: string): string {
  const text = field.replace(FIELD, '').replace(/\s+/g, ' ').trim()
  const quoted = /^(["'])(.*?)\1?$/s.exec(text)
  if (!quoted) return text
  const [, quote = '', inner = ''] = quoted
  // Of `"a" and "b"` the quotes are part of the text.
  return quote === '"' && inner.includes(quote) ? text : inner
}
