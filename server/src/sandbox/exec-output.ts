import { setImmediate as nextTurn } from 'node:timers/promises'
import { OutputRing } from './output-ring.ts'
import type { ExecChunk } from './sandbox.ts'

export const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024

/** Bytes waiting for the reader at which the command is made to wait. */
const HIGH_WATER_BYTES = 256 * 1024
/** Chunks given to a reader in a row before others get their turn: a chunk may be as small as one byte. */
const CHUNKS_A_TURN = 256

/**
 * The output of one command between its pipes and its reader. The first half of `max_bytes` passes through as it
 * arrives; after that the last half is kept, everything between is dropped, and the kept tail follows at the end.
 * What waits for the reader is joined to chunks of one stream, so memory does not depend on how a program writes.
 */
export class ExecOutput implements AsyncIterable<ExecChunk> {
  /** Bytes dropped so far; final once the output has ended. */
  truncated_bytes = 0
  /** Streams that have been told that their middle is dropped. */
  readonly #told = new Set<ExecChunk['stream']>()
  /** Called when the reader has caught up after `push` returned false. */
  onDrain: () => void = () => {}
  #head_left: number
  readonly #tail: OutputRing
  /** The chunk that is read next, as it came; the queue behind it joins what its reader has not fetched in time. */
  #next: ExecChunk | null = null
  readonly #queue = new OutputRing(Number.POSITIVE_INFINITY)
  #ended = false
  #unread = false
  #wake: () => void = () => {}

  constructor(max_bytes: number) {
    this.#head_left = Math.ceil(max_bytes / 2)
    // Infinity - Infinity is NaN; an unlimited head needs no tail.
    this.#tail = new OutputRing(max_bytes - this.#head_left || 0)
  }

  /** Takes a chunk; false means: wait for `onDrain` before sending more. */
  push(stream: ExecChunk['stream'], data: Uint8Array): boolean {
    const head = data.subarray(0, this.#head_left)
    this.#head_left -= head.length
    if (head.length < data.length) this.truncated_bytes += this.#tail.push(stream, data.subarray(head.length))
    if (head.length > 0 && !this.#unread) {
      if (this.#next) this.#queue.push(stream, head)
      else this.#next = { stream, data: head }
      this.#wake()
    }
    return this.#queued_bytes < HIGH_WATER_BYTES
  }

  /** No more chunks will come; the kept tail becomes readable. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecChunk> {
    try {
      for (let in_a_row = 1; ; in_a_row += 1) {
        const was_full = this.#queued_bytes >= HIGH_WATER_BYTES
        const chunk = this.#next ?? (this.#ended ? this.#behindGap() : null)
        this.#next = this.#queue.shift()
        if (chunk) {
          if (was_full && this.#queued_bytes < HIGH_WATER_BYTES) this.onDrain()
          yield chunk
          if (in_a_row % CHUNKS_A_TURN === 0) await nextTurn()
        } else if (this.#ended) return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      // The reader left early: nothing may wait for it any more.
      this.#unread = true
      this.#next = null
      this.#queue.clear()
      this.#tail.clear()
      this.onDrain()
    }
  }

  /** The next chunk of the tail. A stream that has none there is told of its gap by an empty one. */
  #behindGap(): ExecChunk | null {
    const chunk = this.#tail.shift()
    if (this.truncated_bytes === 0) return chunk
    const stream = chunk?.stream ?? (['stdout', 'stderr'] as const).find((each) => !this.#told.has(each))
    if (stream === undefined || this.#told.has(stream)) return chunk
    this.#told.add(stream)
    return { stream, data: chunk?.data ?? new Uint8Array(), after_gap: true }
  }

  get #queued_bytes(): number {
    return (this.#next?.data.length ?? 0) + this.#queue.length
  }
}
