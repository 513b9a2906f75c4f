import { createHash } from 'node:crypto'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { v7 as uuidv7 } from 'uuid'
import type { Blobs } from '../blobs/blobs.ts'
import { HEAD_BYTES } from './content-type.ts'
import type { FencedStore } from './fenced-store.ts'

/** What an artifact's row says of its bytes. */
export interface StoredBytes {
  artifact_uid: string
  blob_key: string
  size_bytes: number
  sha256: string
}

/**
 * Stores the bytes of an artifact whose row is still to be written; gives their beginning back. `open` is called anew for each
 * try. Throws `BlobsUnavailable`, or what the source fails with.
 */
export const putArtifact = (
  blobs: Blobs,
  store: Pick<FencedStore, 'lease' | 'passing'>,
  open: () => Readable | Promise<Readable>,
): Promise<PutArtifact> => store.passing(async () => putArtifactOnce(blobs, store.lease.run_id, await open()))

export interface PutArtifact {
  stored: StoredBytes
  head: Uint8Array
}

/** Under a key of its own: a try that was cut may still be on its way. What it leaves the clean-up finds. */
export async function putArtifactOnce(blobs: Blobs, run_id: string, data: Readable): Promise<PutArtifact> {
  const artifact_uid = uuidv7()
  const blob_key = `runs/${run_id}/artifacts/${artifact_uid}`
  const hash = createHash('sha256')
  let head = Buffer.alloc(0)
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      hash.update(chunk)
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES - head.length)])
      callback(null, chunk)
    },
  })
  // A failure of either ends both; the blob's reader is the one to tell it.
  pipeline(data, hashing).catch(() => {})
  const size_bytes = await blobs.put(blob_key, hashing)
  return { stored: { artifact_uid, blob_key, size_bytes, sha256: hash.digest('hex') }, head }
}
