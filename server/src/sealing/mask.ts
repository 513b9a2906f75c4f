import { Beginnings } from './beginnings.ts'
import { MAX_NEEDLE, MIN_NEEDLE, Needles, reverse } from './needles.ts'
import { MASK } from './sealing.ts'
import { unwrap } from './unwrap.ts'
import { encodedForms, plainForms } from './value-forms.ts'

/** Of a value that a gap cuts, shorter pieces stay: they are parts of ordinary words, and tell next to nothing. */
const MIN_PIECE = 4
/** Characters behind a gap of which a piece of a value can be the beginning, line ends included. */
const EDGE = 2 * MAX_NEEDLE

/** Not a star for each: thousands of names would make millions of stars. */
const starred = (name: string, more: number): string => name + (more < 8 ? '*'.repeat(more) : `*${more}`)

/** A text that comes in pieces. What may be the beginning of a value is kept back until the next piece or `end`. */
export interface MaskedStream {
  push(piece: string): string
  /** Something is left out here. What may be a piece of a value at either side is masked. */
  gap(): string
  end(): string
}

/**
 * Replaces secret values by `***`, also as programs quote, escape and encode them (`value-forms.ts`). What was changed on
 * purpose (reversed, say) is not found. Takes time that grows with the text, whatever the values are.
 */
export class Mask {
  readonly #plain: Needles
  readonly #encoded: Needles
  readonly #beginnings: Beginnings
  /** Made when there is a gap, which is seldom. */
  #backwards: { plain: Needles; encoded: Needles } | null = null

  constructor(values: readonly string[] = []) {
    const hidden = [...new Set(values)].filter((value) => value.length >= MIN_NEEDLE)
    this.#plain = new Needles(hidden.flatMap(plainForms))
    this.#encoded = new Needles(hidden.flatMap(encodedForms))
    this.#beginnings = new Beginnings(
      [...this.#plain.beginnings(), ...this.#encoded.beginnings()],
      MIN_NEEDLE,
    )
  }

  text(text: string): string {
    return this.#replace(text, false).text
  }

  /** The value with all its strings masked; the keys of its objects, too, unless they are to be kept. */
  json<T>(value: T, keys: 'masked' | 'kept' = 'masked'): T {
    return this.#beginnings.size === 0 ? value : (this.#json(value, keys) as T)
  }

  stream(): MaskedStream {
    let kept = ''
    let behind_gap = false
    const take = (more: boolean): string => {
      const piece = behind_gap ? this.#pieceAt(kept) : 0
      behind_gap = false
      const { text, rest } = this.#replace(kept.slice(piece), more)
      kept = rest
      return (piece > 0 ? MASK : '') + text
    }
    return {
      push(piece) {
        kept += piece
        return behind_gap && kept.length < EDGE ? '' : take(true)
      },
      gap() {
        const told = take(true)
        const piece = kept.length < MIN_PIECE ? kept : MASK
        kept = ''
        behind_gap = true
        return told + piece
      },
      end: () => take(false),
    }
  }

  #json(value: unknown, keys: 'masked' | 'kept'): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map((item) => this.#json(item, keys))
    if (typeof value !== 'object' || value === null) return value
    const entries = new Map<string, unknown>()
    const stars = new Map<string, number>()
    for (const [key, item] of Object.entries(value)) {
      const name = keys === 'masked' ? this.text(key) : key
      // Two that look the same now stay two. Thousands may, so each begins to look where the one before ended.
      let more = stars.get(name) ?? 0
      while (entries.has(starred(name, more))) more += 1
      stars.set(name, more + 1)
      entries.set(starred(name, more), this.#json(item, keys))
    }
    return Object.fromEntries(entries)
  }

  /** `rest`: the end of the text that more text may make a value of. */
  #replace(text: string, more: boolean): { text: string; rest: string } {
    if (this.#beginnings.size === 0) return { text, rest: '' }
    const masked: string[] = []
    let done = 0
    const cut = (at: number) => masked.join('') + text.slice(done, at)
    let newline = text.indexOf('\n')
    for (let at = 0; at < text.length; ) {
      if (newline >= 0 && newline < at) newline = text.indexOf('\n', at)
      const wraps = newline >= 0 && newline < at + MIN_NEEDLE
      if (!this.#mayBegin(text, at, wraps, more)) {
        at += 1
        continue
      }
      if (more && this.#isBeginning(text, at)) return { text: cut(at), rest: text.slice(at) }
      const length = this.#lengthAt(text, at)
      if (length > 0) {
        masked.push(text.slice(done, at), MASK)
        done = at + length
      }
      at += Math.max(1, length)
    }
    return { text: cut(text.length), rest: '' }
  }

  #mayBegin(text: string, at: number, wraps: boolean, more: boolean): boolean {
    if (more && at + MIN_NEEDLE > text.length) return true
    if (this.#beginnings.standAt(text, at)) return true
    if (!wraps) return false
    const { chars, end } = unwrap(text, at, MIN_NEEDLE)
    return chars.length < MIN_NEEDLE ? more && end === text.length : this.#beginnings.standAt(chars, 0)
  }

  /** Whether the rest of the text from here is the beginning of something longer. */
  #isBeginning(text: string, at: number): boolean {
    if (text.length - at > EDGE) return false
    if (this.#plain.hasLonger(text.slice(at))) return true
    const { chars, end } = unwrap(text, at, MAX_NEEDLE)
    return chars !== '' && end === text.length && this.#encoded.hasLonger(chars)
  }

  /** Of what stands here, the longest that is to be masked; 0: nothing. */
  #lengthAt(text: string, at: number): number {
    const plain = this.#plain.longestIn(text.slice(at, at + MAX_NEEDLE))
    const encoded = this.#encoded.longestIn(unwrap(text, at, MAX_NEEDLE).chars)
    return encoded === 0 ? plain : Math.max(plain, unwrap(text, at, encoded).end - at)
  }

  /** The length of the longest end of a value that the text begins with; 0: none. */
  #pieceAt(text: string): number {
    this.#backwards ??= { plain: this.#plain.reversed(), encoded: this.#encoded.reversed() }
    const { plain, encoded } = this.#backwards
    const isEnd = (needles: Needles, end: string) =>
      end.length >= MIN_PIECE &&
      (needles.hasLonger(reverse(end)) || needles.longestIn(reverse(end)) === end.length)
    const line = /^\r?\n/.exec(text)?.[0].length ?? 0
    for (let length = Math.min(text.length, MAX_NEEDLE); length >= MIN_PIECE; length -= 1) {
      if (isEnd(plain, text.slice(0, length))) return length
      const { chars, end } = unwrap(text, line, length)
      if (chars.length === length && isEnd(encoded, chars)) return end
    }
    return 0
  }
}
