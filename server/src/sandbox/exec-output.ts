import type { ExecChunk } from './sandbox.ts'

export const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024

/** Bytes waiting for the reader at which the command is made to wait. */
const HIGH_WATER_BYTES = 256 * 1024

/**
 * The output of one command between its pipes and its reader. The first half of `max_bytes` passes through as it
 * arrives; after that the last half is kept, everything between is dropped, and the kept tail follows at the end.
 */
export class ExecOutput implements AsyncIterable<ExecChunk> {
  /** Bytes dropped so far; final once the output has ended. */
  truncated_bytes = 0
  /** Called when the reader has caught up after `push` returned false. */
  onDrain: () => void = () => {}
  #head_left: number
  readonly #tail_limit: number
  #tail: ExecChunk[] = []
  #tail_bytes = 0
  #queue: ExecChunk[] = []
  #queued_bytes = 0
  #ended = false
  #unread = false
  #wake: () => void = () => {}

  constructor(max_bytes: number) {
    this.#head_left = Math.ceil(max_bytes / 2)
    this.#tail_limit = max_bytes - this.#head_left
    // Infinity - Infinity is NaN; an unlimited head needs no tail.
    if (Number.isNaN(this.#tail_limit)) this.#tail_limit = 0
  }

  /** Takes a chunk; false means: wait for `onDrain` before sending more. */
  push(stream: ExecChunk['stream'], data: Uint8Array): boolean {
    const head = data.subarray(0, this.#head_left)
    this.#head_left -= head.length
    if (head.length > 0) this.#enqueue({ stream, data: head })
    if (head.length < data.length) this.#keepTail({ stream, data: data.subarray(head.length) })
    return this.#queued_bytes < HIGH_WATER_BYTES
  }

  /** No more chunks will come; the kept tail becomes readable. */
  end(): void {
    if (this.#ended) return
    for (const chunk of this.#tail) this.#enqueue(chunk)
    this.#tail = []
    this.#ended = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExecChunk> {
    try {
      for (;;) {
        const chunk = this.#queue.shift()
        if (chunk) {
          const was_full = this.#queued_bytes >= HIGH_WATER_BYTES
          this.#queued_bytes -= chunk.data.length
          if (was_full && this.#queued_bytes < HIGH_WATER_BYTES) this.onDrain()
          yield chunk
        } else if (this.#ended) return
        else await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      // The reader left early: nothing may wait for it any more.
      this.#unread = true
      this.#queue = []
      this.#queued_bytes = 0
      this.onDrain()
    }
  }

  #enqueue(chunk: ExecChunk): void {
    if (this.#unread) return
    this.#queue.push(chunk)
    this.#queued_bytes += chunk.data.length
    this.#wake()
  }

  #keepTail(chunk: ExecChunk): void {
    this.#tail.push(chunk)
    this.#tail_bytes += chunk.data.length
    while (this.#tail_bytes > this.#tail_limit) {
      const first = this.#tail[0]
      if (!first) return
      const excess = Math.min(first.data.length, this.#tail_bytes - this.#tail_limit)
      if (excess === first.data.length) this.#tail.shift()
      else this.#tail[0] = { stream: first.stream, data: first.data.subarray(excess) }
      this.#tail_bytes -= excess
      this.truncated_bytes += excess
    }
  }
}
