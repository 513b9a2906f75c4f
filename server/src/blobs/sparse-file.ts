import type { FileHandle } from 'node:fs/promises'

const BLOCK_BYTES = 64 * 1024
const ZEROS = Buffer.alloc(BLOCK_BYTES)

/**
 * Writes everything to an empty file and returns its size. Blocks of zeros become holes: files that an agent made of
 * nothing take up nothing here either.
 */
export async function writeSparse(
  file: FileHandle,
  data: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array>,
): Promise<number> {
  let size = 0
  for await (const piece of data) {
    const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
    for (let start = 0; start < chunk.length; ) {
      const zeros = isZeros(chunk, start)
      let end = start
      do end = Math.min(end + BLOCK_BYTES, chunk.length)
      while (end < chunk.length && isZeros(chunk, end) === zeros)
      if (!zeros) await writeAll(file, chunk.subarray(start, end), size + start)
      start = end
    }
    size += chunk.length
  }
  await file.truncate(size)
  return size
}

const isZeros = (chunk: Uint8Array, start: number): boolean => {
  const block = chunk.subarray(start, start + BLOCK_BYTES)
  return ZEROS.subarray(0, block.length).equals(block)
}

/** A disk that fills takes a part first and refuses the rest. */
async function writeAll(file: FileHandle, data: Uint8Array, position: number): Promise<void> {
  for (let written = 0; written < data.length; ) {
    const { bytesWritten } = await file.write(data, written, data.length - written, position + written)
    written += bytesWritten
  }
}
