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
   * no room.
   */
  put(key: string, data: Readable | Uint8Array): Promise<number>
  /** `null` when there is none. The caller consumes or destroys the stream. */
  get(key: string): Promise<Readable | null>
  /** Idempotent. */
  delete(key: string): Promise<void>
  /**
   * Everything whose key begins with `folder` and `/`, in no order, read as it is asked for. What a put left that was cut
   * short is among it. What comes or goes meanwhile may be missing.
   */
  list(folder: string): AsyncIterable<BlobInfo>
}

/** Nothing more is stored for now; the message says to people why. */
export class BlobsFull extends Error {
  override name = 'BlobsFull'
}
