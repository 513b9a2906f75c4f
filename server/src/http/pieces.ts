/** Of a piece that is kept as it came. */
const LARGE = 4 * 1024
const BLOCK = 64 * 1024

/**
 * Bytes that come in pieces. Small ones are copied together, into blocks that grow with what has come: a buffer of its own for
 * each byte takes a hundred times its size, which no budget of bytes would see.
 */
export class Pieces {
  #whole: Buffer[] = []
  #block = Buffer.alloc(0)
  #used = 0
  #bytes = 0

  /** `is_alone`: nothing else lies in the memory of this piece, so it needs no copy. */
  add(piece: Buffer, is_alone: boolean): void {
    this.#bytes += piece.length
    if (piece.length >= LARGE) {
      this.#closeBlock()
      this.#whole.push(is_alone ? piece : Buffer.from(piece))
      return
    }
    if (this.#used + piece.length > this.#block.length) {
      this.#closeBlock()
      this.#block = Buffer.allocUnsafeSlow(Math.min(BLOCK, Math.max(LARGE, this.#bytes)))
    }
    this.#used += piece.copy(this.#block, this.#used)
  }

  /** All of it; nothing is kept then. */
  take(): Buffer {
    this.#closeBlock()
    const all = Buffer.concat(this.#whole)
    this.#whole = []
    this.#bytes = 0
    return all
  }

  #closeBlock(): void {
    if (this.#used > 0) this.#whole.push(this.#block.subarray(0, this.#used))
    this.#block = Buffer.alloc(0)
    this.#used = 0
  }
}
