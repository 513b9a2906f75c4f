/** Cells of a table, missing ones included: each row of Markdown gets as many as its heading, however short it is written. */
const MOST_CELLS = 10_000

/** Marks that the parser compares with those before them, so that its time grows with the square of their number. */
const COSTLY: ReadonlyArray<readonly [RegExp, most: number]> = [
  [/[[\]]/g, 4_000],
  [/[*_~]+/g, 4_000],
  [/`+/g, 4_000],
  // Headings that are underlined.
  [/^[ \t>]*(?:=+|-+)[ \t]*$/gm, 1_000],
  // Lists and quotes, also within each other.
  [/(?:^|(?<=[ \t>]))(?:[-*+]|\d{1,9}[.)])[ \t]|>/gm, 4_000],
]

/** Whether setting this Markdown would hold the page up, or take more memory than it has. */
export const isCostly = (text: string): boolean =>
  COSTLY.some(([mark, most]) => (text.match(mark)?.length ?? 0) > most) || countCells(text) > MOST_CELLS

/** At most so many: any lines without an empty one between them may be a table as wide as its widest. */
function countCells(text: string): number {
  let cells = 0
  for (const block of text.split(/\n[ \t]*\n/)) {
    const lines = block.split('\n')
    // Without its second line, which has nothing but these, it is none.
    if (!lines.some((line) => line.includes('-') && /^[ \t>|:+*-]+$/.test(line))) continue
    const widest = lines.reduce((most, line) => Math.max(most, line.split('|').length - 1), 0)
    cells += widest * lines.length
  }
  return cells
}
