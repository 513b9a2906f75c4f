import type { Colors } from './colors.ts'
import { widthOf } from './table.ts'

type Paint = (text: string) => string

/** `code`, **bold** and *italic* over the words of a line, which are painted one by one. */
export class InlineMarks {
  readonly #colors: Colors
  #is_code = false
  #is_bold = false
  #is_italic = false

  constructor(colors: Colors) {
    this.#colors = colors
  }

  /** The word without its marks, painted, and how many columns it takes. `base`: what all words of the line are. */
  paint(word: string, base: Paint): { text: string; width: number } {
    // Between spaces a mark is none.
    if (/^\*+$/.test(word)) return { text: this.#style(base)(word), width: word.length }
    let text = ''
    let width = 0
    const pieces = word.split(
      /(`+|\*\*|(?<=^|[^\p{L}\p{N}*])\*(?=[^\s*])|(?<=[^\s*])\*(?=$|[^\p{L}\p{N}*]))/u,
    )
    for (const [at, piece] of pieces.entries()) {
      if (piece === '') continue
      if (at % 2 === 1 && this.#turn(piece)) continue
      text += this.#style(base)(piece)
      width += widthOf(piece)
    }
    return { text, width }
  }

  /** A space within code is code. */
  join(gap: string): string {
    return this.#is_code ? this.#colors.cyan(gap) : gap
  }

  /** Whether the piece is a mark, and turned something on or off. */
  #turn(mark: string): boolean {
    if (mark.startsWith('`')) {
      this.#is_code = !this.#is_code
      return true
    }
    if (this.#is_code) return false
    if (mark === '**') this.#is_bold = !this.#is_bold
    else this.#is_italic = !this.#is_italic
    return true
  }

  #style(base: Paint): Paint {
    const { cyan, bold, italic } = this.#colors
    if (this.#is_code) return cyan
    const outer = this.#is_bold ? (text: string) => bold(base(text)) : base
    return this.#is_italic ? (text) => italic(outer(text)) : outer
  }
}
