import type { Colors } from './colors.ts'
import { InlineMarks } from './inline-marks.ts'
import { formatTable, widthOf } from './table.ts'

/** What may still become the mark of a block: nothing of such a line is written before it is known. */
const UNDECIDED = /^[\s#>*+\-|`~_=\d.)[\]xX]*$/
const FENCE = /^\s{0,3}(?:`{3,}|~{3,})/
const RULE = /^\s{0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/
const TABLE_RULE = /^\|?[\s:|-]+\|[\s:|-]*$/
const NARROWEST = 20

/** How a line begins on the terminal, and how its further lines do. */
interface Start {
  first: string
  further: string
  /** What all its words are. */
  paint: (text: string) => string
}

/**
 * Markdown as it comes, as text of a terminal: a word is written as soon as it is whole, and none is broken at the edge.
 * Code keeps its lines as they are. A table is written when its last line is there.
 */
export class MarkdownWriter {
  readonly #colors: Colors
  readonly #columns: () => number
  /** The line that is being read, from where nothing of it was written yet. */
  #line = ''
  #is_begun = false
  #is_code = false
  #table: string[] = []
  #start: Start = { first: '', further: '', paint: (text) => text }
  #marks: InlineMarks
  /** Ends of lines that are written when something follows them. */
  #ends = ''
  /** Columns taken on the line of the terminal. */
  #width = 0

  constructor({ colors, columns }: { colors: Colors; columns: () => number | undefined }) {
    this.#colors = colors
    this.#columns = () => Math.max(NARROWEST, (columns() ?? 80) - 1)
    this.#marks = new InlineMarks(colors)
  }

  /** What is to be written now that this came. */
  push(text: string): string {
    let written = ''
    const parts = text.split('\n')
    for (const [at, part] of parts.entries()) {
      this.#line += part
      written += at < parts.length - 1 ? this.#endLine() : this.#writeWords()
    }
    return this.#holdEnds(written)
  }

  /** The rest, without the end of its line. */
  end(): string {
    const is_open = this.#line !== '' || this.#is_begun
    const rest = this.#holdEnds((is_open ? this.#endLine() : '') + this.#endTable())
    this.#ends = ''
    return rest
  }

  #holdEnds(text: string): string {
    const all = this.#ends + text
    const written = all.replace(/\n+$/, '')
    this.#ends = all.slice(written.length)
    return written
  }

  #endLine(): string {
    const line = this.#line
    if (!this.#is_begun) {
      if (FENCE.test(line)) {
        this.#is_code = !this.#is_code
        this.#line = ''
        return this.#endTable()
      }
      if (!this.#is_code && /^\s*\|/.test(line)) {
        this.#table.push(line)
        this.#line = ''
        return ''
      }
    }
    const before = this.#endTable()
    if (this.#is_code) {
      this.#line = ''
      return `${before}${this.#colors.cyan(`  ${line}`.trimEnd())}\n`
    }
    if (!this.#is_begun && RULE.test(line)) {
      this.#line = ''
      return `${before}${this.#colors.dim('─'.repeat(Math.min(40, this.#columns())))}\n`
    }
    const words = this.#writeWords(true)
    this.#is_begun = false
    this.#line = ''
    this.#width = 0
    // Marks that were never closed do not reach over a line.
    this.#marks = new InlineMarks(this.#colors)
    return `${before}${words.trimEnd()}\n`
  }

  /** The words of the line that are whole; all of it when it ends. */
  #writeWords(ends = false): string {
    if (this.#is_code) return ''
    let written = ''
    if (!this.#is_begun) {
      if (!ends && UNDECIDED.test(this.#line)) return ''
      // Written as a whole: a table has to know its widest cell.
      if (!ends && /^\s*(?:\||`{3}|~{3})/.test(this.#line)) return ''
      written += this.#endTable() + this.#beginLine()
    }
    const whole = ends ? this.#line.length : this.#line.search(/\s\S*$/)
    if (whole <= 0) return written
    const text = this.#line.slice(0, whole)
    this.#line = this.#line.slice(whole)
    for (const [, space = '', word = ''] of text.matchAll(/(\s*)(\S*)/g))
      written += this.#writeWord(space, word)
    return written
  }

  #writeWord(space: string, word: string): string {
    if (word === '') return ''
    const { text, width } = this.#marks.paint(word, this.#start.paint)
    const is_first = this.#width === widthOf(this.#start.further)
    const gap = is_first || space === '' ? '' : ' '
    if (!is_first && space !== '' && this.#width + gap.length + width > this.#columns()) {
      this.#width = widthOf(this.#start.further) + width
      return `\n${this.#start.further}${text}`
    }
    this.#width += gap.length + width
    return this.#marks.join(gap) + text
  }

  #beginLine(): string {
    this.#is_begun = true
    const { rest, ...start } = readStart(this.#line, this.#colors)
    this.#start = start
    this.#line = rest
    this.#width = widthOf(start.further)
    return start.first
  }

  #endTable(): string {
    if (this.#table.length === 0) return ''
    const [heading = [], ...rows] = this.#table.filter((line) => !TABLE_RULE.test(line)).map(readCells)
    this.#table = []
    const columns = heading.map((cell, at) => ({ heading: cell, flexible: at === heading.length - 1 }))
    const padded = rows.map((row) => heading.map((_, at) => row[at] ?? ''))
    return `${formatTable(columns, padded, this.#columns())}\n`
  }
}

/** A whole text. */
export function renderMarkdown(
  text: string,
  output: ConstructorParameters<typeof MarkdownWriter>[0],
): string {
  const writer = new MarkdownWriter(output)
  return writer.push(text) + writer.end()
}

/** What the line begins with, as a terminal shows it, and what is left of the line. */
function readStart(line: string, colors: Colors): Start & { rest: string } {
  const plain = (text: string): string => text
  const [, indent = ''] = /^(\s*)/.exec(line) ?? []
  const text = line.slice(indent.length)
  const heading = /^#{1,6}\s+/.exec(text)
  if (heading)
    return {
      first: '',
      further: '',
      paint: colors.bold,
      rest: text.slice(heading[0].length).replace(/\s+#+$/, ''),
    }
  const quote = /^>\s?/.exec(text)
  if (quote) {
    const bar = colors.dim('│ ')
    return { first: bar, further: bar, paint: colors.dim, rest: text.slice(quote[0].length) }
  }
  const item = /^(?:[-*+]|(\d{1,9})[.)])\s+(?:\[([ xX])\]\s+)?/.exec(text)
  if (item) {
    const [whole, number, box] = item
    const mark = box === undefined ? (number === undefined ? '•' : `${number}.`) : box === ' ' ? '☐' : '☑'
    const first = `${indent}${mark} `
    return { first, further: ' '.repeat(widthOf(first)), paint: plain, rest: text.slice(whole.length) }
  }
  return { first: indent, further: indent, paint: plain, rest: text }
}

const readCells = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) =>
      cell
        .trim()
        .replaceAll('\\|', '|')
        .replace(/\*\*|`/g, ''),
    )
