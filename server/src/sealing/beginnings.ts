/** Sums of four characters that are told apart; with tens of thousands of beginnings nine of ten places still differ. */
const SUMS = 2 ** 17

/** How what is looked for begins: most places of a text are passed over by this alone, and by a sum before any text is made. */
export class Beginnings {
  readonly size: number
  readonly #texts: Set<string>
  readonly #sums = new Uint8Array(SUMS)
  readonly #length: number

  /** All of one length, at least four. */
  constructor(texts: readonly string[], length: number) {
    this.#texts = new Set(texts)
    this.size = this.#texts.size
    this.#length = length
    for (const text of this.#texts) this.#sums[sumAt(text, 0)] = 1
  }

  /** Whether one of them stands here. */
  standAt(text: string, at: number): boolean {
    return this.#sums[sumAt(text, at)] === 1 && this.#texts.has(text.slice(at, at + this.#length))
  }
}

/** Behind the end of a text stands NaN, which counts as 0. */
const sumAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) * 16381) ^
    (text.charCodeAt(at + 1) * 4093) ^
    (text.charCodeAt(at + 2) * 509) ^
    text.charCodeAt(at + 3)) &
  (SUMS - 1)
