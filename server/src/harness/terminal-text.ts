/** Spaces in front of what is written far to the right, in all; and rows that an escape may jump over. */
const MAX_PADDING = 100_000
const MAX_JUMP = 500
/** Places in rows that escapes may move or fill, in all: each may cost as much as its row is long. */
const WORK_A_CHARACTER = 64
const MIN_WORK = 1_000_000

const SPACE = 0x20
const ESC = '\u001b'
const BEL = '\u0007'
/** Everything that may change how a text looks; a line end does not, nor does a tab. */
const CONTROLS = /(?![\n\t]|\r\n)\p{Cc}/u
const WORDS = String.raw`(?:[^\p{Cc}]|\t)+`
const SEQUENCE = String.raw`${ESC}\[([0-?]*)[ -/]*([@-~]|$)`
/** Titles and links. One without an end is none: it would take all that follows. */
const STRING = String.raw`${ESC}[\]PX^_][^${ESC}${BEL}]{0,4096}(?:${ESC}\\|${BEL})`
const ESCAPE = `${ESC}[ -/]*[0-~]`
const TOKEN = new RegExp([WORDS, SEQUENCE, STRING, ESCAPE, String.raw`[\s\S]`].join('|'), 'gu')

/**
 * What a terminal would show in the end of what a program printed: a progress bar is its last state, colours are gone. It has no
 * width, and nothing scrolls away: only what the program itself writes over or erases is lost. A cleared screen begins below what
 * was printed before, and replaces the one before it. What would take more time than is in proportion to the text is not done.
 */
export function showAsTerminal(text: string): string {
  if (!CONTROLS.test(text)) return text.replaceAll('\r\n', '\n')
  const screen = new Screen(MIN_WORK + WORK_A_CHARACTER * text.length)
  for (const [token, parameters = '', command] of text.matchAll(TOKEN)) {
    if (command !== undefined) screen.obey(command, parameters)
    else if (token === '\n') screen.lineFeed()
    else if (token === '\r') screen.column = 0
    else if (token === '\b') screen.column -= screen.column > 0 ? 1 : 0
    else if (token === `${ESC}c`) screen.clear()
    else if (token === `${ESC}7`) screen.save()
    else if (token === `${ESC}8`) screen.restore()
    else if (token === `${ESC}M`) screen.moveTo(screen.row - 1)
    else if (!CONTROLS.test(token)) screen.write(token)
  }
  return screen.read()
}

class Screen {
  column = 0
  /** UTF-16 units: written in place, since a line may be as long as all there is and be written over again and again. */
  readonly #rows: number[][] = [[]]
  #row = 0
  /** Where the cleared screen begins, once a program has cleared one. */
  #top: number | null = null
  #saved = { row: 0, column: 0 }
  #padding = MAX_PADDING
  #work: number

  constructor(work: number) {
    this.#work = work
  }

  get row(): number {
    return this.#row
  }

  get #line(): number[] {
    return this.#rows[this.#row] ?? []
  }

  write(text: string): void {
    const line = this.#line
    const gap = this.column - line.length
    if (gap > this.#padding) this.column = line.length
    else if (gap > 0) {
      this.#padding -= gap
      for (let at = 0; at < gap; at += 1) line.push(SPACE)
    }
    for (let at = 0; at < text.length; at += 1) line[this.column + at] = text.charCodeAt(at)
    this.column += text.length
  }

  lineFeed(): void {
    this.#row += 1
    this.column = 0
    if (this.#row === this.#rows.length) this.#rows.push([])
  }

  /** Up to the first row, down to the last there is. */
  moveTo(row: number): void {
    this.#row = Math.min(Math.max(row, this.#top ?? 0), this.#rows.length - 1)
  }

  save(): void {
    this.#saved = { row: this.#row, column: this.column }
  }

  restore(): void {
    this.moveTo(this.#saved.row)
    this.column = this.#saved.column
  }

  clear(): void {
    if (this.#top === null) {
      this.#row = this.#rows.length - 1
      if (this.#line.length > 0) this.lineFeed()
      this.#top = this.#row
    }
    this.#rows.length = this.#top + 1
    this.#rows[this.#top] = []
    this.#row = this.#top
    this.column = 0
  }

  /** A control sequence, by its last character. Those that are not here change nothing that could be read. */
  obey(command: string, parameters: string): void {
    const [first = 0, second = 0] = parameters.split(';').map((each) => Number(each) || 0)
    const count = Math.min(Math.max(first, 1), MAX_JUMP)
    const line = this.#line
    if (command === 'A' || command === 'F') this.moveTo(this.#row - count)
    if (command === 'B' || command === 'E') this.moveTo(this.#row + count)
    if (command === 'E' || command === 'F') this.column = 0
    if (command === 'C') this.column += count
    if (command === 'D') this.column = Math.max(0, this.column - count)
    if (command === 'G' || command === '`') this.column = count - 1
    if (command === 'H' || command === 'f') this.#jump(count, Math.min(Math.max(second, 1), MAX_JUMP))
    if (command === 's') this.save()
    if (command === 'u') this.restore()
    if (command === 'P' && this.#mayTouch(line.length - this.column)) line.splice(this.column, count)
    if (command === 'X' && this.#mayTouch(Math.min(count, line.length - this.column)))
      line.fill(SPACE, this.column, this.column + count)
    if (command === 'K') this.#eraseLine(first)
    if (command === 'J' && first === 0) {
      this.#rows.length = this.#row + 1
      this.#eraseLine(0)
    }
    if (command === 'J' && first >= 2) this.clear()
  }

  read(): string {
    return this.#rows.map(textOf).join('\n').toWellFormed()
  }

  #jump(row: number, column: number): void {
    if (this.#top === null) this.clear()
    const wanted = (this.#top ?? 0) + row - 1
    while (this.#rows.length <= wanted && this.#padding > 0) {
      this.#rows.push([])
      this.#padding -= 1
    }
    this.moveTo(wanted)
    this.column = column - 1
  }

  /** 0: behind the cursor, 1: up to it, 2: all. */
  #eraseLine(part: number): void {
    const line = this.#line
    if (part === 0) line.length = Math.min(line.length, this.column)
    else if (part === 1) {
      const end = Math.min(line.length, this.column + 1)
      if (this.#mayTouch(end)) line.fill(SPACE, 0, end)
    } else line.length = 0
  }

  /** Takes it from the work that is left; `false`: not so much is. */
  #mayTouch(places: number): boolean {
    if (places > this.#work) return false
    this.#work -= Math.max(places, 0)
    return true
  }
}

const UNITS = 8_192

function textOf(line: readonly number[]): string {
  const parts: string[] = []
  for (let at = 0; at < line.length; at += UNITS)
    parts.push(String.fromCharCode(...line.slice(at, at + UNITS)))
  return parts.join('').trimEnd()
}
