/**
 * Finds a marker in a stream however it is cut. What may be the marker's beginning is held back until it is known; the first
 * byte of a marker should therefore be one that output seldom ends with.
 */
export class MarkerFinder {
  readonly #marker: Buffer
  #held: Buffer = Buffer.alloc(0)

  constructor(marker: Buffer) {
    this.#marker = marker
  }

  /** What surely came before the marker, and from when on the marker was there what came behind it. */
  find(chunk: Buffer): { before: Buffer; behind: Buffer | null } {
    const data = this.#held.length > 0 ? Buffer.concat([this.#held, chunk]) : chunk
    const at = data.indexOf(this.#marker)
    if (at >= 0) {
      this.#held = Buffer.alloc(0)
      return { before: data.subarray(0, at), behind: data.subarray(at + this.#marker.length) }
    }
    const end = data.length - this.#begun(data)
    // A copy: a view would keep the whole chunk alive.
    this.#held = Buffer.from(data.subarray(end))
    return { before: data.subarray(0, end), behind: null }
  }

  /** What is held back, when nothing follows any more. */
  rest(): Buffer {
    const held = this.#held
    this.#held = Buffer.alloc(0)
    return held
  }

  /** How many bytes at the end of the data are the marker's first ones. */
  #begun(data: Buffer): number {
    const [first = 0] = this.#marker
    let at = data.indexOf(first, Math.max(0, data.length - this.#marker.length + 1))
    for (; at >= 0; at = data.indexOf(first, at + 1)) {
      const length = data.length - at
      if (data.subarray(at).equals(this.#marker.subarray(0, length))) return length
    }
    return 0
  }
}
