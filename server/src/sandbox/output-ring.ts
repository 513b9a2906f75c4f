import type { ExecChunk } from './sandbox.ts'

const STDOUT = 0
const STDERR = 1
const FIRST_CAPACITY = 4096
const MAX_CHUNK = 64 * 1024

/**
 * Bytes of two streams in the order they came. Beyond `limit` the oldest give way. Each byte has a mark that says whose
 * it is, so a program that changes the stream with every byte costs no more than any other: two bytes of memory a byte
 * kept, and time in proportion to the bytes that pass through.
 */
export class OutputRing {
  length = 0
  readonly #limit: number
  #bytes: Buffer = Buffer.alloc(0)
  #marks: Buffer = Buffer.alloc(0)
  #start = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns how many bytes gave way. */
  push(stream: ExecChunk['stream'], data: Uint8Array): number {
    const kept = data.length > this.#limit ? data.subarray(data.length - this.#limit) : data
    const excess = Math.max(0, this.length + kept.length - this.#limit)
    this.#drop(excess)
    this.#reserve(this.length + kept.length)
    const capacity = this.#bytes.length
    const end = capacity === 0 ? 0 : (this.#start + this.length) % capacity
    const first = Math.min(kept.length, capacity - end)
    const mark = stream === 'stdout' ? STDOUT : STDERR
    this.#bytes.set(kept.subarray(0, first), end)
    this.#marks.fill(mark, end, end + first)
    this.#bytes.set(kept.subarray(first), 0)
    this.#marks.fill(mark, 0, kept.length - first)
    this.length += kept.length
    return excess + data.length - kept.length
  }

  /** Takes the oldest bytes that are of one stream, at most 64 KiB; null when there are none. */
  shift(): ExecChunk | null {
    if (this.length === 0) return null
    const end = Math.min(this.#start + this.length, this.#bytes.length, this.#start + MAX_CHUNK)
    const mark = this.#marks[this.#start] === STDOUT ? STDOUT : STDERR
    const change = this.#marks.subarray(this.#start, end).indexOf(mark === STDOUT ? STDERR : STDOUT)
    const data = new Uint8Array(this.#bytes.subarray(this.#start, change < 0 ? end : this.#start + change))
    this.#drop(data.length)
    return { stream: mark === STDOUT ? 'stdout' : 'stderr', data }
  }

  /** A copy of everything, whosever it is. */
  read(): Buffer {
    const end = this.#start + this.length
    const wrapped = Math.max(0, end - this.#bytes.length)
    return Buffer.concat([this.#bytes.subarray(this.#start, end), this.#bytes.subarray(0, wrapped)])
  }

  clear(): void {
    this.length = 0
    this.#start = 0
    this.#bytes = Buffer.alloc(0)
    this.#marks = Buffer.alloc(0)
  }

  #drop(bytes: number): void {
    this.length -= bytes
    this.#start = this.length === 0 ? 0 : (this.#start + bytes) % this.#bytes.length
  }

  #reserve(bytes: number): void {
    const capacity = this.#bytes.length
    if (bytes <= capacity) return
    const wanted = Math.min(this.#limit, Math.max(FIRST_CAPACITY, 2 * capacity, bytes))
    const grow = (old: Buffer): Buffer => {
      const grown = Buffer.allocUnsafeSlow(wanted)
      const copied = old.copy(grown, 0, this.#start, Math.min(capacity, this.#start + this.length))
      old.copy(grown, copied, 0, this.length - copied)
      return grown
    }
    this.#bytes = grow(this.#bytes)
    this.#marks = grow(this.#marks)
    this.#start = 0
  }
}
