import { setImmediate } from 'node:timers/promises'
import { MAX_NEEDLE, MIN_NEEDLE, Needles } from './needles.ts'
import { MASK } from './sealing.ts'
import { unwrap } from './unwrap.ts'
import { encodedForms, plainForms } from './value-forms.ts'

/** Of a value that a gap cuts, shorter pieces stay: they are parts of ordinary words, and tell next to nothing. */
const MIN_PIECE = 4
/** Characters behind a gap of which a piece of a value can be the beginning, line ends included. */
const EDGE = 2 * MAX_NEEDLE

/** Characters of forms that are taken in at once: some milliseconds. */
const TURN = 2 ** 17

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
 * purpose (reversed, say) is not found. Takes time that grows with the text, whatever the values are, and keeps hashes of the
 * values' forms only (`needles.ts`). The constructor is for short values, `Mask.of` for those of users.
 */
export class Mask {
  #plain: Needles
  #encoded: Needles

  constructor(values: readonly string[] = []) {
    const characters = values.reduce((sum, value) => sum + value.length, 0)
    this.#plain = new Needles(characters)
    this.#encoded = new Needles(characters)
    // Nothing is done between its steps here.
    for (const _ of this.#learn(values));
  }

  /** The same for values that may be long: it lets others work in between, since a megabyte of values takes seconds. */
  static async of(values: readonly string[]): Promise<Mask> {
    const mask = new Mask()
    const characters = values.reduce((sum, value) => sum + value.length, 0)
    mask.#plain = new Needles(characters)
    mask.#encoded = new Needles(characters)
    let done = 0
    for (const length of mask.#learn(values)) {
      done += length
      if (done < TURN) continue
      done = 0
      await setImmediate()
    }
    return mask
  }

  /** Yields how many characters it has taken in. */
  *#learn(values: readonly string[]): Generator<number> {
    for (const value of new Set(values)) {
      if (value.length < MIN_NEEDLE) continue
      for (const [needles, forms] of [
        [this.#plain, plainForms(value)],
        [this.#encoded, encodedForms(value)],
      ] as const) {
        // Most forms of most values are the value.
        const seen = new Set<string>()
        for (const form of forms) {
          if (!seen.has(form)) needles.add(form)
          seen.add(form)
          yield form.length
        }
      }
    }
  }

  text(text: string): string {
    return this.#replace(text, false).text
  }

  /** The value with all its strings masked; the keys of its objects, too, unless they are to be kept. */
  json<T>(value: T, keys: 'masked' | 'kept' = 'masked'): T {
    return this.#plain.isEmpty ? value : (this.#json(value, keys) as T)
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
    if (this.#plain.isEmpty) return { text, rest: '' }
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
    if (this.#plain.beginsAt(text, at) || this.#encoded.beginsAt(text, at)) return true
    if (!wraps) return false
    const { chars, end } = unwrap(text, at, MIN_NEEDLE)
    return chars.length < MIN_NEEDLE ? more && end === text.length : this.#encoded.beginsAt(chars, 0)
  }

  /** Whether the rest of the text from here is the beginning of something longer. */
  #isBeginning(text: string, at: number): boolean {
    if (text.length - at > EDGE) return false
    if (this.#plain.mayGoOn(text, at)) return true
    const { chars, end } = unwrap(text, at, MAX_NEEDLE)
    return end === text.length && this.#encoded.mayGoOn(chars, 0)
  }

  /** Of what stands here, the longest that is to be masked; 0: nothing. */
  #lengthAt(text: string, at: number): number {
    const plain = this.#plain.longestAt(text, at)
    const encoded = this.#encoded.longestAt(unwrap(text, at, MAX_NEEDLE).chars, 0)
    return encoded === 0 ? plain : Math.max(plain, unwrap(text, at, encoded).end - at)
  }

  /**
   * The length of what the text begins with of a value: an end of a part, and the parts behind it; 0: nothing. Ends are only known
   * roughly, and one that is too long would swallow the beginning of the next part, without which that is not found. So all are
   * tried, and the one counts behind which the value goes on furthest. Shorter pieces are ends if a part follows.
   */
  #pieceAt(text: string): number {
    const line = /^\r?\n/.exec(text)?.[0].length ?? 0
    let furthest = 0
    const tryEnd = (at: number, is_end: boolean): void => {
      const end = this.#endOfParts(text, at)
      if (is_end || end > at) furthest = Math.max(furthest, end)
    }
    for (let length = 0; length <= Math.min(text.length, MAX_NEEDLE); length += 1) {
      const is_short = length < MIN_PIECE
      if (is_short || this.#plain.mayEnd(text, length)) tryEnd(length, !is_short)
      const { chars, end } = unwrap(text, line, length)
      if (chars.length === length && (is_short || this.#encoded.mayEnd(chars, length))) tryEnd(end, !is_short)
    }
    return furthest
  }

  /** Where the parts of values end that follow each other from here. */
  #endOfParts(text: string, from: number): number {
    const length = this.#lengthAt(text, from)
    return length === 0 ? from : this.#endOfParts(text, from + length)
  }
}
