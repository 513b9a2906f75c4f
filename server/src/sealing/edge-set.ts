const LEAST_BITS = 2 ** 18
const MOST_BITS = 2 ** 26

/** Hashes of 32 bits as a map of bits. It never forgets one, and may know one too many. */
export class EdgeSet {
  readonly #words: Uint32Array
  readonly #shift: number

  /** `expected`: about how many bits it may take. */
  constructor(expected: number) {
    const bits = Math.min(MOST_BITS, Math.max(LEAST_BITS, 2 ** Math.ceil(Math.log2(expected + 1))))
    this.#words = new Uint32Array(bits / 32)
    this.#shift = 32 - Math.log2(bits)
  }

  add(hash: number): void {
    const bit = spread(hash) >>> this.#shift
    const word = bit >>> 5
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (bit & 31))
  }

  has(hash: number): boolean {
    const bit = spread(hash) >>> this.#shift
    return (((this.#words[bit >>> 5] ?? 0) >>> (bit & 31)) & 1) === 1
  }
}

const spread = (hash: number): number => Math.imul(hash ^ (hash >>> 16), 0xc2b2ae35)
