/** Pairs of hashes, together 64 bits, in 8 bytes each where a `Set` takes ten times that. */
export class HashSet {
  /** Two numbers a place; both 0: free. */
  #places = new Uint32Array(2 * 64)
  #size = 0

  has(first: number, second: number): boolean {
    return this.#places[this.#placeOf(first, second) + 1] !== 0
  }

  add(first: number, second: number): void {
    const place = this.#placeOf(first, second)
    if (this.#places[place + 1] !== 0) return
    this.#places[place] = first
    this.#places[place + 1] = filled(second)
    this.#size += 1
    if (this.#size * 4 > this.#places.length) this.#grow()
  }

  /** Where the pair stands, else where it belongs. */
  #placeOf(first: number, second: number): number {
    const mask = this.#places.length / 2 - 1
    const wanted = filled(second)
    for (let at = Math.imul(first, 0x9e3779b1) >>> 4; ; at += 1) {
      const place = 2 * (at & mask)
      const held = this.#places[place + 1]
      if (held === 0 || (held === wanted && this.#places[place] === first >>> 0)) return place
    }
  }

  #grow(): void {
    const old = this.#places
    this.#places = new Uint32Array(2 * old.length)
    for (let at = 0; at < old.length; at += 2) {
      const [first = 0, second = 0] = [old[at], old[at + 1]]
      if (second === 0) continue
      const place = this.#placeOf(first, second)
      this.#places[place] = first
      this.#places[place + 1] = second
    }
  }
}

const filled = (hash: number): number => hash >>> 0 || 1
