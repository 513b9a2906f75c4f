import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { Allowance } from './allowance.ts'
import { isSegment, segmentsOf } from './blob-key.ts'
import { type Blobs, BlobsFull } from './blobs.ts'
import { readDiskSpace } from './disk-space.ts'
import { walkFiles } from './file-walk.ts'
import { writeSparse } from './sparse-file.ts'

export interface DiskBlobsOptions {
  /** Nothing is stored while less of the file system is free. */
  min_free_percent?: number
  /** What all blobs together may take up, of this and of other processes. */
  max_bytes?: number
}

const COUNT_MS = 30_000

/** Blobs as files below `root`, which every process of the installation must share. */
export function openDiskBlobs(
  root: string,
  { min_free_percent = 0, max_bytes }: DiskBlobsOptions = {},
): Blobs {
  const allowance = new Allowance({
    max_bytes,
    countBytes: () => countBytes(root),
    count_every_ms: COUNT_MS,
  })
  const requireRoom = async (): Promise<void> => {
    await mkdir(root, { recursive: true, mode: 0o700 })
    if ((await readDiskSpace(root)).free_percent < min_free_percent)
      throw new BlobsFull('Too little of the disk of the service is free to keep files.')
    await allowance.requireRoom()
  }
  const pathOf = (key: string): string => join(root, ...segmentsOf(key))
  return {
    async put(key, data) {
      const path = pathOf(key)
      const partial = `${path}.${randomUUID()}.partial`
      try {
        await requireRoom()
        const size = await writeSynced(partial, data)
        await rename(partial, path)
        allowance.add(size)
        return size
      } catch (error) {
        if (data instanceof Readable) data.destroy()
        await rm(partial, { force: true })
        if (isFull(error)) throw new BlobsFull('The disk of the service is full.', { cause: error })
        throw error
      }
    },
    async get(key) {
      try {
        const file = await open(pathOf(key), 'r')
        return file.createReadStream()
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },
    async delete(key) {
      await rm(pathOf(key), { force: true })
    },
    async *list(folder) {
      const path = pathOf(folder)
      for await (const { name, ...info } of walkFiles(path, isSegment))
        yield { key: `${folder}/${name}`, ...info }
    },
  }
}

/** A walk may remove an empty folder at any time, this one too. */
const MAKE_TRIES = 10

/** Synced before it is renamed: a power cut leaves the old file or the new one, never half of one. */
async function writeSynced(path: string, data: Readable | Uint8Array): Promise<number> {
  const file = await makeFile(path)
  try {
    const size = await writeSparse(file, data instanceof Readable ? data : [data])
    await file.datasync()
    return size
  } finally {
    await file.close()
  }
}

async function makeFile(path: string): Promise<FileHandle> {
  for (let tries = 1; ; tries += 1) {
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      return await open(path, 'wx', 0o600)
    } catch (error) {
      if (!isMissing(error) || tries === MAKE_TRIES) throw error
    }
  }
}

async function countBytes(root: string): Promise<number> {
  const { stdout } = await promisify(execFile)('du', ['-s', '-x', '-k', '--', root], {
    env: { PATH: process.env.PATH },
  })
  return Number.parseInt(stdout, 10) * 1024
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
