import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
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

/** Blobs as files below `folder`, which every process of the installation must share. */
export function openDiskBlobs(
  folder: string,
  { min_free_percent = 0, max_bytes }: DiskBlobsOptions = {},
): Blobs {
  const root = resolve(folder)
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
        await syncFolders(root, path)
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
    async *list(prefix) {
      for await (const { name, ...info } of walkFiles(pathOf(prefix), isSegment))
        yield { key: `${prefix}/${name}`, ...info }
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

/**
 * The name of a new file is its folder's, and a new folder's is that of the folder above: after a power cut a file whose row is
 * committed would not be there.
 */
async function syncFolders(root: string, path: string): Promise<void> {
  for (let folder = dirname(path); folder.length >= root.length; folder = dirname(folder)) {
    const opened = await open(folder, 'r')
    try {
      await opened.sync()
    } finally {
      await opened.close()
    }
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
  const options = { env: { PATH: process.env.PATH, LC_ALL: 'C' } }
  // It complains at its end about each file that vanished while it walked, and has counted the rest.
  const printed = await promisify(execFile)('du', ['-s', '-x', '-k', '--', root], options).catch(
    (error: Error & { stdout?: string }) => {
      if (!error.stdout) throw error
      return { stdout: error.stdout }
    },
  )
  const kib = Number.parseInt(printed.stdout, 10)
  if (Number.isNaN(kib)) throw new Error(`du said nothing about ${root} that can be read.`)
  return kib * 1024
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT')
