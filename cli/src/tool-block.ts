import type { RunEvent } from '@runyard/client'
import type { Output } from './output.ts'
import { truncate, widthOf } from './table.ts'
import { formatDuration } from './time-text.ts'

/** A line of a change: taken away, or put in its place. */
export interface ChangedLine {
  sign: '-' | '+'
  text: string
}

export type ToolCall = Extract<RunEvent, { type: 'tool.call' }>['data']
export type ToolResult = Extract<RunEvent, { type: 'tool.result' }>['data']

/** Lines of output shown of a finished call on a terminal, unless all are asked for. */
export const FOLDED_LINES = 10
/** Columns of a title where no terminal sets a limit. */
const TITLE_LENGTH = 130
/** A reason up to this length stands beside the title, a longer one below it. */
const SHORT_REASON = 40
/** Characters kept of the line that stands beside a running call. */
const LONGEST_SHOWN = 1000
/** What the mark, the exit code and the time next to a title take. */
const FIGURES_LENGTH = 28

/** A tool call on its way: its title, and what it printed, by lines. */
export class ToolBlock {
  readonly call: ToolCall
  readonly title: string
  readonly started_at: number
  readonly #output: Output
  /** Complete lines not taken yet. */
  #lines: string[] = []
  #partial = ''
  last_line = ''
  printed = false

  constructor(call: ToolCall, started_at: number, output: Output) {
    this.call = call
    this.title = titleOf(call, output)
    this.started_at = started_at
    this.#output = output
  }

  add(text: string): void {
    const lines = text.split('\n')
    const rest = lines.pop() ?? ''
    for (const line of lines) {
      this.#push(this.#partial + line)
      this.#partial = ''
    }
    // Not looked at again until its end comes: a line may be all there is.
    this.#partial += rest
  }

  /** The lines completed since this was last asked. */
  takeLines(): string[] {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  /** Everything that is left, the unfinished last line included. */
  takeRest(): string[] {
    if (this.#partial) this.#push(this.#partial)
    this.#partial = ''
    return this.takeLines()
  }

  #push(line: string): void {
    const clean = this.#output.clean(line)
    this.#lines.push(clean)
    this.printed = true
    const shown = clean.trim().slice(0, LONGEST_SHOWN)
    if (shown) this.last_line = shown
  }
}

/** One line that says what is called: `Run the tests  $ npm test`, `read_file src/app.ts`. */
export function titleOf(call: ToolCall, output: Output): string {
  const limit = Math.max(20, (output.columns() ?? TITLE_LENGTH) - FIGURES_LENGTH)
  const title = truncate(firstLine(call.title ?? ''), limit)
  const command = call.input.command
  if (typeof command === 'string') {
    const shown = firstLine(command)
    if (!title || sameText(title, command)) return truncate(`$ ${shown}`, limit)
    const left = limit - widthOf(title) - 4
    return left < 10 ? title : `${title}  ${output.colors.dim(`$ ${truncate(shown, left)}`)}`
  }
  const name = firstLine(call.name)
  // Titles of our own tools begin with what they do: `read src/app.ts`.
  const given = title.startsWith(`${name} `) ? title.slice(name.length + 1) : title
  const about = given || firstLine(summarise(call.input))
  return `${output.colors.bold(name)} ${truncate(about, Math.max(10, limit - widthOf(name)))}`.trimEnd()
}

/** `2.1 s`, `exit code 1 · 2.1 s`, or what the agent was told when that is one short line. */
export function describeResult(result: ToolResult, elapsed_ms: number): string {
  const told = (result.output ?? '').trim()
  const code = result.exit_code
  const parts = [
    ...(result.is_error && told && isShort(told) ? [told] : []),
    ...(typeof code === 'number' && code !== 0 ? [`exit code ${code}`] : []),
    formatDuration(result.duration_ms ?? elapsed_ms),
    ...(result.truncated_bytes ? [`${result.truncated_bytes.toLocaleString('en')} bytes not kept`] : []),
  ]
  return parts.join(' · ')
}

/**
 * What the agent was told, as lines, where its output did not say it and the result line does not either. A call that `printed`
 * is told with what it printed: of that, only what the tool put before and behind it is left.
 */
export function linesOfResult(result: ToolResult, printed: boolean): string[] {
  const told = (result.output ?? '').trimEnd()
  if (told === '' || (result.is_error && isShort(told.trim()))) return []
  const lines = told.split('\n')
  if (!printed) return lines
  if (!result.is_error) return []
  const notes = lines.slice(lines.findLastIndex((line) => !/^\[.*\]$/.test(line)) + 1)
  const first = lines[0]?.startsWith('interrupted: ') ? [lines[0]] : []
  return [...first, ...notes.filter((line) => !/^\[exit code \d+\]$/.test(line))]
}

/** The end of long output, and how much was left out. `whole`: the command that shows all of it. */
export function fold(lines: readonly string[], output: Output, whole = ''): string[] {
  const columns = output.columns()
  if (lines.length <= FOLDED_LINES + 1)
    return columns ? lines.map((line) => truncate(line, columns - 4)) : [...lines]
  const shown = lines.slice(-FOLDED_LINES)
  return [
    output.colors.italic(`… ${lines.length - shown.length} earlier lines${whole && `: ${whole}`}`),
    ...(columns ? shown.map((line) => truncate(line, columns - 4)) : shown),
  ]
}

/** The beginning of a change, and how much of it was left out. */
export function foldChange(lines: readonly ChangedLine[], output: Output, whole = ''): string[] {
  const { colors, columns } = output
  const width = columns()
  const shown = lines.length <= FOLDED_LINES + 1 ? lines : lines.slice(0, FOLDED_LINES)
  const painted = shown.map(({ sign, text }) => {
    const line = `${sign} ${output.clean(text).replaceAll('\t', '  ')}`
    return colors[sign === '+' ? 'green' : 'red'](width ? truncate(line, width - 4) : line)
  })
  const more = lines.length - shown.length
  return more > 0 ? [...painted, colors.dim(`… ${more} more lines${whole && `: ${whole}`}`)] : painted
}

const isShort = (text: string): boolean => text.length <= SHORT_REASON && !text.includes('\n')

function firstLine(text: string): string {
  const [first = '', ...more] = text.trim().split('\n')
  return first.replaceAll('\t', ' ') + (more.length > 0 ? ' …' : '')
}

const sameText = (title: string, command: string): boolean =>
  command.trim().startsWith(title.replace(/\s*…$/, ''))

/** The first plain value of the input is nearly always what matters: a path, a pattern, a query. */
function summarise(input: ToolCall['input']): string {
  const value = Object.values(input).find((each) => typeof each === 'string' || typeof each === 'number')
  return value === undefined ? '' : String(value)
}
