import { ListObjectsV2Command } from '@aws-sdk/client-s3'
import type { BlobsState } from './blobs.ts'
import { createS3Client, type S3Place } from './s3-client.ts'

/** Probes come every few seconds from several places, and asking costs money. */
const AGE_MS = 10_000
const PATIENCE_MS = 2_000

/** Tells whether the storage answers; asks at most once in ten seconds, and for two seconds. Never rejects. */
export function watchS3(place: S3Place, age_ms = AGE_MS): () => Promise<BlobsState> {
  const client = createS3Client(place, 0)
  let known: { at: number; state: Promise<BlobsState> } | null = null
  const ask = (): Promise<BlobsState> => {
    const { bucket: Bucket, prefix: Prefix } = place
    const command = new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 })
    return client.send(command, { abortSignal: AbortSignal.timeout(PATIENCE_MS) }).then(
      () => ({ kind: 's3' as const, reachable: true }),
      () => ({ kind: 's3' as const, reachable: false }),
    )
  }
  return () => {
    const now = performance.now()
    if (!known || now - known.at >= age_ms) known = { at: now, state: ask() }
    return known.state
  }
}
