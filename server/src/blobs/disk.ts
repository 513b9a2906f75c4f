import { randomUUID } from 'node:crypto'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Blobs } from './blobs.ts'

const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}$/

/** Blobs as files below `root`, which every process of the installation must share. */
export function openDiskBlobs(root: string): Blobs {
  const pathOf = (key: string): string => {
    const segments = key.split('/')
    if (!segments.every((segment) => SEGMENT.test(segment)))
      throw new Error(`Not a blob key: ${JSON.stringify(key)}`)
    return join(root, ...segments)
  }
  return {
    async put(key, data) {
      const path = pathOf(key)
      const partial = `${path}.${randomUUID()}.partial`
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      try {
        const file = await open(partial, 'wx', 0o600)
        // Synced before the rename: a power cut leaves the old file or the new one, never half of one.
        await pipeline(
          data instanceof Readable ? data : Readable.from([data]),
          file.createWriteStream({ flush: true }),
        )
        const { size } = await stat(partial)
        await rename(partial, path)
        return size
      } catch (error) {
        await rm(partial, { force: true })
        throw error
      }
    },
    async get(key) {
      try {
        const file = await open(pathOf(key), 'r')
        return file.createReadStream()
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
        throw error
      }
    },
    async delete(key) {
      await rm(pathOf(key), { force: true })
    },
  }
}
