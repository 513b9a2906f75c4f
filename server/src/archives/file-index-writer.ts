import { type Blobs, discardBlob } from '../blobs/blobs.ts'
import type { ArchiveEntry } from './archive-check.ts'
import { compress } from './compression.ts'
import { lineOf } from './file-index.ts'

/** Stores the index of an archive while that passes. */
export class FileIndexWriter {
  readonly #blobs: Blobs
  readonly #key: string
  readonly #compressed = compress()
  readonly #stored: Promise<unknown>
  #lines = ''

  constructor(blobs: Blobs, key: string) {
    this.#blobs = blobs
    this.#key = key
    this.#stored = blobs.put(key, this.#compressed)
    // Whoever writes or ends hears of it.
    this.#stored.catch(() => {})
  }

  add(entry: ArchiveEntry): void {
    this.#lines += lineOf(entry)
  }

  /** Writes what was added, as fast as it is stored. Throws what storing it fails with. */
  async write(): Promise<void> {
    if (this.#lines === '') return
    const lines = this.#lines
    this.#lines = ''
    const taken = new Promise<void>((resolve, reject) => {
      this.#compressed.write(lines, (error) => (error ? reject(error) : resolve()))
    })
    await Promise.race([taken, this.#stored])
  }

  /** Resolves when all is stored. */
  async end(): Promise<void> {
    await this.write()
    this.#compressed.end()
    await this.#stored
  }

  /** The archive is not stored, so its index is not either. */
  async discard(): Promise<void> {
    this.#compressed.destroy(new Error('The archive is not stored.'))
    await this.#stored.catch(() => {})
    await discardBlob(this.#blobs, this.#key)
  }
}
