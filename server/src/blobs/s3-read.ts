import { Readable } from 'node:stream'
import { BlobsUnavailable } from './blobs.ts'

/** An object from some byte on. */
export interface S3Part {
  body: Readable
  bytes: number
  etag: string | undefined
}

/** Times in a row that an answer broke off without a single byte. */
const TRIES = 3

/**
 * Every byte of an object, however often the connection breaks: `openFrom` gives the rest, of the same version, and fails or
 * gives `null` when that is gone.
 */
export function readWhole(
  { body, bytes }: S3Part,
  openFrom: (from: number) => Promise<S3Part | null>,
): Readable {
  let current = body
  let received = 0
  async function* read(): AsyncGenerator<Buffer> {
    for (let failures = 0; ; ) {
      let cause: unknown
      const chunks = current.iterator({ destroyOnReturn: true })
      for (;;) {
        const next = await chunks.next().catch((error: unknown) => {
          cause = error
          return null
        })
        if (!next || next.done) break
        received += next.value.length
        failures = 0
        yield next.value
      }
      if (received === bytes && cause === undefined) return
      failures += 1
      if (received >= bytes || failures > TRIES)
        throw new BlobsUnavailable('The storage of files did not give all of a file.', { cause })
      const rest = await openFrom(received)
      if (rest?.bytes !== bytes - received) {
        rest?.body.destroy()
        throw new BlobsUnavailable('A file was replaced or removed while it was read.', { cause })
      }
      current = rest.body
    }
  }
  const whole = Readable.from(read(), { objectMode: false })
  // Also when nobody began to read: the generator hears nothing then.
  whole.once('close', () => current.destroy())
  return whole
}
