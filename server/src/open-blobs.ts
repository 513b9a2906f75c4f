import { join } from 'node:path'
import type { Blobs, BlobsState } from './blobs/blobs.ts'
import { openDiskBlobs } from './blobs/disk.ts'
import type { Config } from './config.ts'
import { AppError } from './contract/error.ts'

export interface OpenedBlobs {
  blobs: Blobs
  /** The same without limits: files that no run names go also where no more are taken. */
  unlimited: Blobs
  /** Never rejects. */
  state: () => Promise<BlobsState>
}

/** Where this process keeps the files of runs. Throws one line for the operator when it cannot be used. */
export async function openBlobs(config: Config): Promise<OpenedBlobs> {
  const { s3, min_free_percent } = config
  const max = config.max_files_bytes ? { max_bytes: config.max_files_bytes } : {}
  if (!s3) {
    const root = join(config.data_dir, 'blobs')
    return {
      blobs: openDiskBlobs(root, { min_free_percent, ...max }),
      unlimited: openDiskBlobs(root),
      // What may be wrong with a disk is said of the data directory.
      state: async () => ({ kind: 'disk', reachable: true }),
    }
  }
  // Loaded where it is used: it takes longer than all else of a start.
  const [{ openS3Blobs }, { createS3Client }, { checkS3, S3Refusal }, { watchS3 }] = await Promise.all([
    import('./blobs/s3.ts'),
    import('./blobs/s3-client.ts'),
    import('./blobs/s3-check.ts'),
    import('./blobs/s3-state.ts'),
  ])
  await checkS3(s3).catch((error: unknown) => {
    if (!(error instanceof S3Refusal)) throw error
    const code = error.is_away ? 'resource_unavailable' : 'invalid_request'
    throw new AppError(code, `RUNYARD_BLOBS: ${error.message}`, { cause: error.cause })
  })
  const client = createS3Client(s3)
  return {
    blobs: openS3Blobs(client, s3, max),
    unlimited: openS3Blobs(client, s3),
    state: watchS3(s3),
  }
}
