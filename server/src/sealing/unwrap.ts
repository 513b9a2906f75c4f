/** Between its first line and its last a wrapped text has no shorter line. */
const MIN_LINE = 16

/**
 * The next `count` characters from a place, without the line ends that a program breaks base64 and the like with. Fewer
 * where the text ends (`end` is its length) or where it is not wrapped in this way. `end`: the place behind them.
 */
export function unwrap(text: string, at: number, count: number): { chars: string; end: number } {
  let chars = ''
  for (let from = at; ; ) {
    const wanted = count - chars.length
    const piece = text.slice(from, from + wanted + 2)
    const newline = piece.indexOf('\n')
    const ends = newline >= 0 || from + piece.length === text.length
    const whole = newline >= 0 ? piece.slice(0, newline) : piece
    const line = ends && whole.endsWith('\r') ? whole.slice(0, -1) : whole
    if (line.length >= wanted) return { chars: chars + line.slice(0, wanted), end: from + wanted }
    if (newline < 0) return { chars: chars + line, end: text.length }
    chars += line
    // A shorter one is the last.
    if (line.length < (from === at ? 1 : MIN_LINE)) return { chars, end: from + line.length }
    from += newline + 1
    if (from === text.length) return { chars, end: from }
  }
}
