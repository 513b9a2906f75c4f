import { statfs } from 'node:fs/promises'
import type { DiskSpace } from './blobs.ts'

/** What is left of the file system a directory lies on. */
export async function readDiskSpace(directory: string): Promise<DiskSpace> {
  const { bsize, blocks, bfree, bavail, files, ffree } = await statfs(directory)
  // As `df` counts: what is kept for root is neither used nor free.
  const usable = blocks - bfree + bavail
  const free_percent = Math.min(usable > 0 ? bavail / usable : 0, files > 0 ? ffree / files : 1) * 100
  return { free_bytes: bavail * bsize, free_files: files > 0 ? ffree : null, free_percent }
}
