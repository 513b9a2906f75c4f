import type { Stats } from 'node:fs'
import { lstat, opendir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface WalkedFile {
  /** Below where the walk began. */
  name: string
  bytes: number
  /** Also when it was renamed or restored from a copy. */
  modified_at: number
}

/**
 * Every file below a folder, one after the other; never more in memory than the folders above it. Folders it finds empty are
 * removed. Links, and names that `isOurs` does not know, are left alone.
 */
export async function* walkFiles(
  folder: string,
  isOurs: (name: string) => boolean,
): AsyncGenerator<WalkedFile, void> {
  yield* walkFolder(folder, '', isOurs)
}

/** Returns whether the folder is gone. */
async function* walkFolder(
  folder: string,
  prefix: string,
  isOurs: (name: string) => boolean,
): AsyncGenerator<WalkedFile, boolean> {
  const directory = await unlessGone(() => opendir(folder))
  if (!directory) return true
  let holds_something = false
  for await (const entry of directory) {
    const path = join(folder, entry.name)
    if (!isOurs(entry.name)) holds_something = true
    else if (entry.isDirectory()) {
      const gone = yield* walkFolder(path, `${prefix}${entry.name}/`, isOurs)
      if (!gone) holds_something = true
    } else {
      holds_something = true
      const stats: Stats | null = entry.isFile() ? await unlessGone(() => lstat(path)) : null
      if (!stats) continue
      const modified_at = Math.max(stats.mtimeMs, stats.ctimeMs)
      yield { name: `${prefix}${entry.name}`, bytes: stats.size, modified_at }
    }
  }
  if (holds_something || prefix === '') return false
  return rmdir(folder).then(
    () => true,
    // Something was put there meanwhile.
    () => false,
  )
}

/** `null` for what somebody removed meanwhile. */
async function unlessGone<T>(look: () => Promise<T>): Promise<T | null> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
