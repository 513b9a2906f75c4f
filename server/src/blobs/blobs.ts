import type { Readable } from 'node:stream'

/** What is left of a file system. */
export interface DiskSpace {
  /** For who is not root. */
  free_bytes: number
  /** `null` where files are not counted. */
  free_files: number | null
  total_bytes: number
  total_files: number | null
  scarce: 'bytes' | 'files'
  /** Of what is scarce. */
  free_percent: number
}

export interface BlobInfo {
  key: string
  /** When it was last changed in any way, in milliseconds since 1970. */
  modified_at: number
  bytes?: number
}

/**
 * Files of runs: artifacts, attachments, snapshots. Keys are made by the service: segments of `[A-Za-z0-9._-]`
 * separated by `/`, none of them `.` or `..`; anything else throws.
 */
export interface Blobs {
  /**
   * Stores the whole stream or nothing; replaces what is there. Returns its size in bytes. Throws `BlobsFull` when there is
   * no room, and what the stream fails with. Like every method it throws `BlobsUnavailable` when the storage does not answer.
   */
  put(key: string, data: Readable | Uint8Array): Promise<number>
  /** `null` when there is none. The caller consumes or destroys the stream, which fails unless it gives every byte. */
  get(key: string): Promise<Readable | null>
  /** Idempotent. */
  delete(key: string): Promise<void>
  /**
   * Everything whose key begins with `folder` and `/`, in no order, read as it is asked for. What a put left that was cut
   * short is among it. What comes or goes meanwhile may be missing.
   */
  list(folder: string): AsyncIterable<BlobInfo>
}

/** Whether files can be read and written at this moment, as far as is known. */
export interface BlobsState {
  kind: 'disk' | 's3'
  reachable: boolean
}

/** The storage cannot be used for now; the message says to people why. */
export class BlobsUnavailable extends Error {
  override name = 'BlobsUnavailable'
}

/** It is not the storage that fails but the way to it: trying again is worth it, as `FencedStore.passing` does. */
export class BlobsAway extends BlobsUnavailable {
  override name = 'BlobsAway'
}

/** Nothing more is stored for now. */
export class BlobsFull extends BlobsUnavailable {
  override name = 'BlobsFull'
}

/** Removes a blob that no row names. Where the storage does not answer, the clean-up finds it later. */
export async function discardBlob(blobs: Blobs, key: string): Promise<void> {
  await blobs.delete(key).catch((error: unknown) => {
    if (!(error instanceof BlobsUnavailable)) throw error
  })
}
