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
  #counting: Promise<void> | null = null
  #added = 0

  constructor(options: AllowanceOptions) {
    this.#options = options
  }

  /** Throws `BlobsFull`. */
  async requireRoom(): Promise<void> {
    const { max_bytes, count_every_ms } = this.#options
    if (max_bytes === undefined) return
    const { counted_at } = this.#held
    if (performance.now() - counted_at > count_every_ms) {
      this.#counting ??= this.#count().finally(() => {
        this.#counting = null
      })
      // Many blobs take minutes to count, for which nobody waits who has an older count.
      if (counted_at === Number.NEGATIVE_INFINITY || this.#held.bytes >= max_bytes) await this.#counting
      else this.#counting.catch(() => {})
    }
    if (this.#held.bytes >= max_bytes)
      throw new BlobsFull('The service keeps as many files as its operator allows.')
  }

  add(bytes: number): void {
    this.#held.bytes += bytes
    this.#added += bytes
  }

  async #count(): Promise<void> {
    const before = this.#added
    const bytes = await this.#options.countBytes()
    // What came meanwhile may be in the count or not.
    this.#held = { bytes: bytes + this.#added - before, counted_at: performance.now() }
  }
}
