import { MASK } from './sealing.ts'

/** Shorter values are settings such as `1` and `test`: masking those would make a log unreadable and hide nothing. */
export const MIN_MASKED_LENGTH = 8

/** Longer values are looked for in parts of this length, so that no text costs more than others. */
const PART = 128

/**
 * Replaces secret values by `***`, also where they stand in base64, in hexadecimal, URL-encoded or inside JSON. What was
 * changed on purpose (reversed, say) is not found. Takes time that grows with the text, whatever the values are.
 */
export class Mask {
  /** What to look for, sorted. */
  readonly #needles: string[]
  /** By needle, the longest other one that it begins with; -1: none. */
  readonly #shorter: number[]
  /** How they begin: most places of a text are passed over by this alone. */
  readonly #beginnings: Set<string>

  constructor(values: readonly string[] = []) {
    const parts = [...new Set(values)].flatMap(formsOf).flatMap(partsOf)
    this.#needles = [...new Set(parts)].sort()
    this.#shorter = findShorter(this.#needles)
    this.#beginnings = new Set(this.#needles.map((needle) => needle.slice(0, MIN_MASKED_LENGTH)))
  }

  text(text: string): string {
    return this.#replace(text, false).text
  }

  /** The value with all its strings masked; its keys stay. */
  json<T>(value: T): T {
    return this.#needles.length === 0 ? value : (this.#json(value) as T)
  }

  /** A text that comes in pieces. What may be the beginning of a value is kept back until the next piece or `end`. */
  stream(): { push(piece: string): string; end(): string } {
    let kept = ''
    const push = (piece: string, more: boolean): string => {
      const { text, rest } = this.#replace(kept + piece, more)
      kept = rest
      return text
    }
    return { push: (piece) => push(piece, true), end: () => push('', false) }
  }

  #json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map((item) => this.#json(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.#json(item)]))
  }

  /** `rest`: the end of the text that more text may make a value of. */
  #replace(text: string, more: boolean): { text: string; rest: string } {
    const masked: string[] = []
    let done = 0
    const cut = (at: number) => masked.join('') + text.slice(done, at)
    if (this.#needles.length === 0) return { text, rest: '' }
    for (let at = 0; at < text.length; ) {
      const here = text.slice(at, at + MIN_MASKED_LENGTH)
      const short = here.length < MIN_MASKED_LENGTH
      if (short ? !more : !this.#beginnings.has(here)) {
        at += 1
        continue
      }
      if (more && this.#isBeginning(text, at)) return { text: cut(at), rest: text.slice(at) }
      const length = short ? 0 : this.#lengthAt(text, at)
      if (length > 0) {
        masked.push(text.slice(done, at), MASK)
        done = at + length
      }
      at += Math.max(1, length)
    }
    return { text: cut(text.length), rest: '' }
  }

  /** Whether the rest of the text from here is the beginning of something longer. */
  #isBeginning(text: string, at: number): boolean {
    if (text.length - at >= 2 * PART) return false
    const rest = text.slice(at)
    const needle = this.#needles[this.#firstFrom(rest)]
    // What is equal to the rest comes first; what is longer follows it.
    if (needle === rest) return this.#needles[this.#firstFrom(rest) + 1]?.startsWith(rest) ?? false
    return needle?.startsWith(rest) ?? false
  }

  /** Of what stands here, the longest that is to be masked; 0: nothing. */
  #lengthAt(text: string, at: number): number {
    const here = text.slice(at, at + 2 * PART)
    const after = this.#firstFrom(here)
    let place = this.#needles[after] === here ? after : after - 1
    // Whatever sorts between a beginning of the text and the text begins with that beginning, too.
    while (place >= 0 && !here.startsWith(this.#needles[place] ?? '')) place = this.#shorter[place] ?? -1
    return place < 0 ? 0 : (this.#needles[place]?.length ?? 0)
  }

  /** The place of the first that does not sort before `text`. */
  #firstFrom(text: string): number {
    let low = 0
    let high = this.#needles.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#needles[middle] ?? '') < text) low = middle + 1
      else high = middle
    }
    return low
  }
}

function findShorter(needles: readonly string[]): number[] {
  const shorter: number[] = []
  for (const [place, needle] of needles.entries()) {
    let before = place - 1
    while (before >= 0 && !needle.startsWith(needles[before] ?? '')) before = shorter[before] ?? -1
    shorter.push(before)
  }
  return shorter
}

/** None is longer than twice a part, or too short to be looked for. */
function partsOf(needle: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < needle.length; ) {
    const left = needle.length - at
    const length = left < PART + MIN_MASKED_LENGTH ? left : PART
    parts.push(needle.slice(at, at + length))
    at += length
  }
  return parts.filter((part) => part.length >= MIN_MASKED_LENGTH)
}

/** A value as programs print it. */
function formsOf(value: string): string[] {
  if (value.length < MIN_MASKED_LENGTH) return []
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].map((offset) => inBase64(bytes, offset))
  return [
    value,
    value.trim(),
    encodeURIComponent(value.toWellFormed()),
    new URLSearchParams([['', value]]).toString().slice(1),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('hex'),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

/** The bytes inside a longer base64 text that has so many bytes before them: without the characters that they share. */
function inBase64(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
}
