import measure from 'fast-string-truncated-width'
import { oneLine } from './one-line.ts'

const GAP = '  '
const ELLIPSIS = '…'

/** Columns a text takes on a terminal: wide characters two, escape sequences none. */
export const widthOf = (text: string): number => measure(text).width

/** Characters that may share a column: an emoji of a family is eleven in two, escape sequences come on top. */
const CHARACTERS_A_COLUMN = 32

/** What is left of a flexible column. */
const LEAST = 8

/** The text, or its beginning and an ellipsis, in at most this many columns. */
export function truncate(text: string, limit: number): string {
  // Measuring takes time without limit where a line is full of the beginnings of escape sequences (--raw).
  const most = Math.max(1, limit) * CHARACTERS_A_COLUMN
  const near = text.length > most ? `${text.slice(0, most)}${ELLIPSIS}` : text
  const { index, ellipsed } = measure(near, { limit, ellipsis: ELLIPSIS, ellipsisWidth: 1 })
  return ellipsed ? `${near.slice(0, index)}${ELLIPSIS}` : near.slice(0, index)
}

/** The text, or an ellipsis and its end, in at most this many columns: what tells paths apart. */
export function truncateStart(text: string, limit: number): string {
  if (widthOf(text) <= limit) return text
  const kept: string[] = []
  let width = widthOf(ELLIPSIS)
  for (const character of [...text.slice(-Math.max(1, limit) * CHARACTERS_A_COLUMN)].reverse()) {
    width += widthOf(character)
    if (width > limit) break
    kept.push(character)
  }
  return ELLIPSIS + kept.reverse().join('')
}

export interface Column {
  heading: string
  /** Gives way when the table is wider than the terminal; at most one. */
  flexible?: boolean
  /** Columns that it keeps while others can be left out. */
  least?: number
  /** Left out, the first of them first, where the table is wider than the terminal even so. */
  spare?: boolean
  /** Figures stand below each other by their last digit. */
  align?: 'right'
  /** Keeps the spaces that a cell begins with. */
  indented?: boolean
  /** Applied after cutting and padding are computed. */
  paint?: (text: string) => string
}

/**
 * Rows under headings, aligned; with a width, no line is longer as long as the first column, which is never cut, and the
 * least of the flexible one have room. The last column is not padded.
 */
export function formatTable(
  all: readonly Column[],
  content: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const { columns, rows } = fit(
    all,
    content.map((row) => row.map((cell, at) => settle(cell, all[at]))),
    width,
  )
  const widths = widthsOf(columns, rows)
  const total = totalOf(widths)
  const flexible = columns.findIndex((column) => column.flexible)
  if (total > width && flexible >= 0) {
    widths[flexible] = Math.max(leastOf(columns[flexible]), (widths[flexible] ?? 0) - (total - width))
  }
  const line = (cells: readonly string[], painted: boolean): string =>
    columns
      .map((column, at) => {
        const text = truncate(cells[at] ?? '', widths[at] ?? 0)
        const padding = at === columns.length - 1 ? '' : padTo(widths[at] ?? 0, text)
        const shown = painted && column.paint ? column.paint(text) : text
        return column.align === 'right' ? padTo(widths[at] ?? 0, text) + shown : shown + padding
      })
      .join(GAP)
      .trimEnd()
  const headings = columns.map((column) => column.heading)
  return [line(headings, false), ...rows.map((row) => line(row, true))].join('\n')
}

const leastOf = (column: Column | undefined): number => column?.least ?? LEAST

const settle = (cell: string, column: Column | undefined): string =>
  (column?.indented ? /^ */.exec(cell)?.[0] : '') + oneLine(cell)

const padTo = (width: number, text: string): string => ' '.repeat(Math.max(0, width - widthOf(text)))

interface Table {
  columns: readonly Column[]
  rows: readonly (readonly string[])[]
}

/** Drops columns until the table fits: spare ones first, then others from the right. */
function fit(columns: readonly Column[], rows: Table['rows'], width: number): Table {
  const least = widthsOf(columns, rows).map((each, at) =>
    columns[at]?.flexible ? Math.min(each, leastOf(columns[at])) : each,
  )
  const spare = columns.findIndex((column) => column.spare)
  const left_out = spare >= 0 ? spare : columns.findLastIndex((column, at) => at > 0 && !column.flexible)
  if (left_out < 0 || totalOf(least) <= width) return { columns, rows }
  return fit(
    columns.toSpliced(left_out, 1),
    rows.map((row) => row.toSpliced(left_out, 1)),
    width,
  )
}

const widthsOf = (columns: readonly Column[], rows: Table['rows']): number[] =>
  columns.map((column, at) => Math.max(widthOf(column.heading), ...rows.map((row) => widthOf(row[at] ?? ''))))

const totalOf = (widths: readonly number[]): number =>
  widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1)
