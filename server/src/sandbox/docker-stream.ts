import { PassThrough, type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { passOn } from './pass-on.ts'

const HEADER_BYTES = 8
const STDERR = 2

/**
 * Takes Docker's multiplexed attach stream apart. Each frame is a header (stream number, three zeroes, length) and its
 * data. Unlike the client's own demultiplexer it waits for a slow reader, so a command cannot fill the memory. `isCommands`
 * is asked with the first data whether the command says it, or the engine in its place: that is left out.
 */
export function splitDockerStream(
  source: Readable,
  isCommands: () => Promise<boolean> = async () => true,
): { stdout: Readable; stderr: Readable } {
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  let passes: Promise<boolean> | undefined
  readDockerStream(source, async (stream, data) => {
    passes ??= isCommands()
    if (await passes) await passOn(streams[stream], data)
  }).finally(() => {
    streams.stdout.end()
    streams.stderr.end()
  })
  return streams
}

/**
 * Hands over the data of each frame, in pieces, and waits each time. Resolves at the stream's end, which a connection that
 * breaks is too: how the command ended is asked for separately.
 */
export async function readDockerStream(
  source: Readable,
  deliver: (stream: 'stdout' | 'stderr', data: Buffer) => Promise<void> | void,
): Promise<void> {
  await pipeline(source, new FrameReader(deliver)).catch(() => {})
}

class FrameReader extends Writable {
  readonly #deliver: (stream: 'stdout' | 'stderr', data: Buffer) => Promise<void> | void
  #header = Buffer.alloc(0)
  #left = 0

  constructor(deliver: (stream: 'stdout' | 'stderr', data: Buffer) => Promise<void> | void) {
    super()
    this.#deliver = deliver
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error) => void): void {
    this.#read(chunk).then(() => callback(), callback)
  }

  async #read(chunk: Buffer): Promise<void> {
    let rest = chunk
    while (rest.length > 0) {
      if (this.#left === 0) {
        const missing = HEADER_BYTES - this.#header.length
        this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)])
        rest = rest.subarray(missing)
        if (this.#header.length === HEADER_BYTES) this.#left = this.#header.readUInt32BE(4)
        // A frame may be empty; the next header follows at once.
        if (this.#header.length === HEADER_BYTES && this.#left === 0) this.#header = Buffer.alloc(0)
      } else {
        const data = rest.subarray(0, this.#left)
        rest = rest.subarray(data.length)
        this.#left -= data.length
        await this.#deliver(this.#header.readUInt8(0) === STDERR ? 'stderr' : 'stdout', data)
        if (this.#left === 0) this.#header = Buffer.alloc(0)
      }
    }
  }
}
