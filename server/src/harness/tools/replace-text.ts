import { findText } from './find-text.ts'

export interface Replacement {
  old_text: string
  new_text: string
  replace_all: boolean
}

export type Replaced =
  | { text: string; lines: number[] }
  | { problem: 'same' }
  | { problem: 'missing' }
  /** `lines`: where it stands. */
  | { problem: 'ambiguous'; lines: number[] }

/**
 * A text with a piece replaced. Models write LF whatever the file has, so both are compared without regard to CRLF, and every line
 * keeps its own end: a new one ends as the one before it. Texts that differ in their line ends alone are meant so.
 */
export function replaceText(text: string, replacement: Replacement): Replaced {
  const { old_text, new_text, replace_all } = replacement
  if (old_text === new_text) return { problem: 'same' }
  const wanted = withLf(old_text)
  const given = withLf(new_text)
  const is_exact = wanted === given
  const view = new LineEnds(is_exact ? null : text)
  const source = is_exact ? text : withLf(text)
  const piece = is_exact ? old_text : wanted
  const found = findAll(source, piece, replace_all)
  const lines = countLines(source, found)
  if (found.length === 0) return { problem: 'missing' }
  if (found.length > 1 && !replace_all) return { problem: 'ambiguous', lines }
  // CRs that only the new text has are meant.
  const fresh =
    is_exact || (new_text.includes('\r\n') && !old_text.includes('\r\n') && !view.has_crlf) ? new_text : given
  const [first, last] = is_exact ? [0, 0] : alike(piece, fresh)
  const middle = fresh.slice(first, fresh.length - last)
  const parts: string[] = []
  let from = 0
  for (const at of found) {
    const begin = at + first
    parts.push(
      text.slice(from, view.offset(begin)),
      view.hasCrlfAt(Math.max(at, begin - 1)) ? withCrlf(middle) : middle,
    )
    from = view.offset(at + piece.length - last)
  }
  parts.push(text.slice(from))
  return { text: parts.join(''), lines }
}

/** Places of a piece that are told, and one more. */
const MAX_TOLD = 6

const withLf = (text: string): string => text.replaceAll('\r\n', '\n')
const withCrlf = (text: string): string => text.replace(/(?<!\r)\n/g, '\r\n')

function findAll(text: string, piece: string, all: boolean): number[] {
  const found: number[] = []
  const most = all ? Number.POSITIVE_INFINITY : MAX_TOLD
  // Where one place is meant, places that overlap are two.
  const step = all ? piece.length : 1
  for (
    let at = findText(text, piece);
    at !== -1 && found.length < most;
    at = findText(text, piece, at + step)
  )
    found.push(at)
  return found
}

function countLines(text: string, places: readonly number[]): number[] {
  let line = 1
  let from = 0
  return places.map((at) => {
    line += text.slice(from, at).split('\n').length - 1
    from = at
    return line
  })
}

/** How much of the begin and of the end of two texts is alike, without overlapping. */
function alike(one: string, other: string): [number, number] {
  const most = Math.min(one.length, other.length)
  let first = 0
  while (first < most && one[first] === other[first]) first += 1
  let last = 0
  while (last < most - first && one[one.length - 1 - last] === other[other.length - 1 - last]) last += 1
  return [first, last]
}

/** Where a text has CRLF, for somebody who sees LF in its place. */
class LineEnds {
  /** Of all line ends, in the text with LF; and how many CRs stand before each, and behind the last. */
  readonly #ends: number[] = []
  readonly #crs: number[] = [0]

  constructor(text: string | null) {
    if (text === null) return
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
      const crs = this.#crs.at(-1) ?? 0
      const is_crlf = text[at - 1] === '\r'
      this.#ends.push(at - crs - (is_crlf ? 1 : 0))
      this.#crs.push(crs + (is_crlf ? 1 : 0))
    }
  }

  get has_crlf(): boolean {
    return (this.#crs.at(-1) ?? 0) > 0
  }

  /** In the text as it is. */
  offset(at: number): number {
    return at + (this.#crs[this.#next(at)] ?? 0)
  }

  /** How the line ends that this is in; the last one of a file as the one before. */
  hasCrlfAt(at: number): boolean {
    const next = Math.min(this.#next(at), this.#ends.length - 1)
    return next >= 0 && (this.#crs[next + 1] ?? 0) > (this.#crs[next] ?? 0)
  }

  /** The number of line ends before a place. */
  #next(at: number): number {
    let low = 0
    let high = this.#ends.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ends[middle] ?? 0) < at) low = middle + 1
      else high = middle
    }
    return low
  }
}
