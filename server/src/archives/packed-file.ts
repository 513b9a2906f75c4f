import { pipeline, Readable } from 'node:stream'
import { decompress } from './compression.ts'
import type { IndexedFile } from './file-index.ts'

/** The content of one file of an archive. What comes before it is unpacked and thrown away, what comes after it is not read. */
export const openPackedFile = (archive: Readable, { offset, size }: Pick<IndexedFile, 'offset' | 'size'>) =>
  Readable.from(
    cut(
      pipeline(archive, decompress(), () => {}),
      offset,
      offset + size,
    ),
    { objectMode: false },
  )

async function* cut(data: AsyncIterable<Buffer>, begin: number, end: number): AsyncGenerator<Buffer> {
  let at = 0
  for await (const chunk of data) {
    const piece = chunk.subarray(Math.max(0, begin - at), Math.max(0, end - at))
    if (piece.length > 0) yield piece
    at += chunk.length
    if (at >= end) return
  }
  throw new Error('The archive ends before the file does.')
}
