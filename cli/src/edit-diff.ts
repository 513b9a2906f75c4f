import type { ChangedLine, ToolCall } from './tool-block.ts'

/** Agents call the texts of an edit differently: the built-in one, Claude Code, opencode, and others. */
const OLD = ['old_text', 'old_string', 'oldString', 'old_str']
const NEW = ['new_text', 'new_string', 'newString', 'new_str']
const CONTENT = ['content', 'contents', 'file_text']
const WRITES = /write|create/i

/** What an edit changes, as far as its call says it; none for other calls. */
export function readEdit({ name, input }: Pick<ToolCall, 'name' | 'input'>): ChangedLine[] {
  const edits = Array.isArray(input.edits) && input.edits.length > 0 ? input.edits : [input]
  const changed = edits.flatMap((edit: unknown) => (isObject(edit) ? readReplacement(edit) : []))
  if (changed.length > 0) return changed
  const content = WRITES.test(name) ? textOf(input, CONTENT) : undefined
  return content === undefined ? [] : toLines(content).map((text) => ({ sign: '+', text }))
}

function readReplacement(edit: Record<string, unknown>): ChangedLine[] {
  const [before, after] = [textOf(edit, OLD), textOf(edit, NEW)]
  if (before === undefined || after === undefined) return []
  const [old_lines, new_lines] = [toLines(before), toLines(after)]
  const shorter = Math.min(old_lines.length, new_lines.length)
  let head = 0
  while (head < shorter && old_lines[head] === new_lines[head]) head += 1
  let tail = 0
  while (tail < shorter - head && old_lines.at(-1 - tail) === new_lines.at(-1 - tail)) tail += 1
  const changed = (lines: string[], sign: ChangedLine['sign']): ChangedLine[] =>
    lines.slice(head, lines.length - tail).map((text) => ({ sign, text }))
  return [...changed(old_lines, '-'), ...changed(new_lines, '+')]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

function textOf(input: Record<string, unknown>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = input[name]
    if (typeof value === 'string') return value
  }
  return undefined
}

/** The end of the last line begins no other. */
const toLines = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
