import { statfs } from 'node:fs/promises'
import type { DiskSpace } from './blobs.ts'

/** What is left of the file system a directory lies on. */
export async function readDiskSpace(directory: string): Promise<DiskSpace> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(directory)
  // As `df` counts: what is kept for root is neither used nor free.
  const usable = blocks - bfree + bavail
  const of_bytes = usable > 0 ? bavail / usable : 0
  const of_files = files > 0 ? ffree / files : 1
  return {
    free_bytes: bavail * bsize,
    free_files: files > 0 ? ffree : null,
    total_bytes: usable * bsize,
    total_files: files > 0 ? files : null,
    scarce: of_files < of_bytes ? 'files' : 'bytes',
    free_percent: Math.min(of_bytes, of_files) * 100,
  }
}
