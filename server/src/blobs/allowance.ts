import { BlobsFull } from './blobs.ts'

export interface AllowanceOptions {
  /** What all blobs together may take up, of this and of other processes. */
  max_bytes: number | undefined
  countBytes: () => Promise<number>
  /** Between two counts of what is there, which others add to as well. */
  count_every_ms: number
}

/** How much more is stored before the next count. */
export class Allowance {
  readonly #options: AllowanceOptions
  #held = { bytes: 0, counted_at: Number.NEGATIVE_INFINITY }

  constructor(options: AllowanceOptions) {
    this.#options = options
  }

  /** Throws `BlobsFull`. */
  async requireRoom(): Promise<void> {
    const { max_bytes, countBytes, count_every_ms } = this.#options
    if (max_bytes === undefined) return
    if (performance.now() - this.#held.counted_at > count_every_ms)
      this.#held = { bytes: await countBytes(), counted_at: performance.now() }
    if (this.#held.bytes >= max_bytes)
      throw new BlobsFull('The service keeps as many files as its operator allows.')
  }

  add(bytes: number): void {
    this.#held.bytes += bytes
  }
}
