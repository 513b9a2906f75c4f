/** Shorter texts are settings such as `1` and `test`: masking those would make a log unreadable and hide nothing. */
export const MIN_NEEDLE = 8
/** Longer texts are looked for in parts of this length, so that no text costs more than others. */
const PART = 128
/** No part is longer. */
export const MAX_NEEDLE = PART + MIN_NEEDLE - 1

/** Texts to look for at one place of another, by binary search: the time does not depend on how many there are. */
export class Needles {
  /** Sorted. */
  readonly #needles: string[]
  /** By needle, the longest other one that it begins with; -1: none. */
  readonly #shorter: number[]

  constructor(texts: readonly string[]) {
    // Most forms of most values are the value.
    this.#needles = [...new Set([...new Set(texts)].flatMap(partsOf))].sort()
    this.#shorter = findShorter(this.#needles)
  }

  /** Their first characters, as many as the shortest has. */
  beginnings(): string[] {
    return this.#needles.map((needle) => needle.slice(0, MIN_NEEDLE))
  }

  /** The same read backwards. */
  reversed(): Needles {
    return new Needles(this.#needles.map(reverse))
  }

  /** The length of the longest that `text` begins with; 0: none. */
  longestIn(text: string): number {
    const after = this.#firstFrom(text)
    let place = this.#needles[after] === text ? after : after - 1
    // Whatever sorts between a beginning of the text and the text begins with that beginning, too.
    while (place >= 0 && !text.startsWith(this.#needles[place] ?? '')) place = this.#shorter[place] ?? -1
    return place < 0 ? 0 : (this.#needles[place]?.length ?? 0)
  }

  /** Whether there is a longer one that begins with `text`. */
  hasLonger(text: string): boolean {
    const place = this.#firstFrom(text)
    // What is equal to the text comes first; what is longer follows it.
    const next = this.#needles[place] === text ? place + 1 : place
    return this.#needles[next]?.startsWith(text) ?? false
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

/** By UTF-16 code unit, as everything here counts. */
export const reverse = (text: string): string => text.split('').reverse().join('')

function findShorter(needles: readonly string[]): number[] {
  const shorter: number[] = []
  for (const [place, needle] of needles.entries()) {
    let before = place - 1
    while (before >= 0 && !needle.startsWith(needles[before] ?? '')) before = shorter[before] ?? -1
    shorter.push(before)
  }
  return shorter
}

/** What is too short to be looked for has none. */
function partsOf(text: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const left = text.length - at
    const length = left < PART + MIN_NEEDLE ? left : PART
    parts.push(text.slice(at, at + length))
    at += length
  }
  return parts.filter((part) => part.length >= MIN_NEEDLE)
}
