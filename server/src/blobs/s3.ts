import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  NoSuchKey,
  paginateListObjectsV2,
  type S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { Allowance } from './allowance.ts'
import { isBlobKey, segmentsOf } from './blob-key.ts'
import { type BlobInfo, type Blobs, BlobsFull, BlobsUnavailable } from './blobs.ts'
import type { S3Place } from './s3-client.ts'
import { readWhole, type S3Part } from './s3-read.ts'

const MiB = 1024 ** 2
/** In memory for each upload, up to three times. A file has 10,000 parts at most, so up to 80 GB. */
const PART_BYTES = 8 * MiB
/** A count asks once for a thousand blobs, and asking costs money. */
const COUNT_MS = 5 * 60_000
/** An upload that is older belongs to a process that was killed. */
const UPLOAD_AGE_MS = 24 * 60 * 60_000

export interface S3BlobsOptions {
  /** What all blobs together may take up, of this and of other processes. */
  max_bytes?: number
}

/** Blobs as objects below a prefix of a bucket. */
export function openS3Blobs(
  client: S3Client,
  { bucket: Bucket, prefix }: Pick<S3Place, 'bucket' | 'prefix'>,
  { max_bytes }: S3BlobsOptions = {},
): Blobs {
  const at = (key: string) => ({ Bucket, Key: prefix + segmentsOf(key).join('/') })

  const open = async (key: string, from = 0, etag?: string): Promise<S3Part | null> => {
    try {
      const { Body, ContentLength, ETag } = await client.send(
        new GetObjectCommand({
          ...at(key),
          ...(from > 0 ? { Range: `bytes=${from}-` } : {}),
          ...(etag ? { IfMatch: etag } : {}),
        }),
      )
      if (!(Body instanceof Readable) || ContentLength === undefined)
        throw new Error('The answer has no body, or does not say how long it is.')
      return { body: Body, bytes: ContentLength, etag: ETag }
    } catch (error) {
      if (error instanceof NoSuchKey) return null
      throw toBlobsError(error)
    }
  }

  async function* list(below: string): AsyncGenerator<BlobInfo> {
    try {
      for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: below }))
        for (const { Key = '', Size, LastModified } of page.Contents ?? []) {
          const key = Key.slice(prefix.length)
          if (!isBlobKey(key) || !LastModified) continue
          yield { key, modified_at: LastModified.getTime(), ...(Size === undefined ? {} : { bytes: Size }) }
        }
    } catch (error) {
      throw toBlobsError(error)
    }
  }

  const allowance = new Allowance({
    max_bytes,
    count_every_ms: COUNT_MS,
    async countBytes() {
      let sum = 0
      for await (const { bytes = 0 } of list(prefix)) sum += bytes
      return sum
    },
  })

  /** Not every store lists them, and not every user may: a rule of the bucket does the same. */
  const abortOldUploads = async (below: string): Promise<void> => {
    try {
      let next: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | null = {}
      while (next) {
        const page: ListMultipartUploadsCommandOutput = await client.send(
          new ListMultipartUploadsCommand({ Bucket, Prefix: below, ...next }),
        )
        for (const { Key, UploadId, Initiated } of page.Uploads ?? [])
          if (Initiated && Date.now() - Initiated.getTime() > UPLOAD_AGE_MS)
            await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
        next = page.IsTruncated
          ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
          : null
      }
    } catch {
      // The next listing tries again.
    }
  }

  /** Whether what was to be stored is there: the answer that said so may have been lost. */
  const isStored = async (key: string, bytes: number): Promise<boolean> => {
    const found = await client.send(new HeadObjectCommand(at(key))).catch(() => null)
    return found?.ContentLength === bytes
  }

  return {
    async put(key, data) {
      const counted = new Counted(data instanceof Readable ? data : [data])
      try {
        const params = { ...at(key), Body: Readable.from(counted, { highWaterMark: 1 }) }
        await allowance.requireRoom()
        // One part after the other: what fails ends the upload at once, and its parts are removed.
        await new Upload({ client, params, queueSize: 1, partSize: PART_BYTES })
          .done()
          .then(requireStored)
          .catch(async (error: unknown) => {
            if (nameOf(error) !== 'NoSuchUpload' || !(await isStored(key, counted.bytes))) throw error
          })
        allowance.add(counted.bytes)
        return counted.bytes
      } catch (error) {
        if (data instanceof Readable) data.destroy()
        throw counted.failure?.error === error ? error : toBlobsError(error)
      }
    },
    async get(key) {
      const first = await open(key)
      return first && readWhole(first, (from) => open(key, from, first.etag))
    },
    async delete(key) {
      const command = new DeleteObjectCommand(at(key))
      await client.send(command).catch((error: unknown) => {
        if (!(error instanceof NoSuchKey)) throw toBlobsError(error)
      })
    },
    async *list(folder) {
      const below = `${at(folder).Key}/`
      yield* list(below)
      await abortOldUploads(below)
    },
  }
}

/** A proxy that wants somebody to sign in answers 200 as well; it has stored nothing. */
function requireStored({ ETag }: { ETag?: string | undefined }): void {
  if (ETag === undefined) throw new BlobsUnavailable('The storage of files does not answer as S3 does.')
}

/** Counts what goes through, and remembers what the source failed with. */
class Counted implements AsyncIterable<Uint8Array> {
  bytes = 0
  failure: { error: unknown } | null = null
  readonly #source: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array>

  constructor(source: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array>) {
    this.#source = source
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of this.#source) {
        const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
        this.bytes += chunk.length
        yield chunk
      }
    } catch (error) {
      this.failure = { error }
      throw error
    }
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '')

/** What stores say that have no room left, or a limit for the bucket. */
const FULL =
  /^(XMinioStorageFull|XMinioAdminBucketQuotaExceeded|QuotaExceeded|StorageFull|InsufficientCapacity|EntityTooLarge)$/

function toBlobsError(error: unknown): Error {
  if (error instanceof BlobsUnavailable) return error
  if (error instanceof Error && error.message.startsWith('Not a blob key')) return error
  if (FULL.test(nameOf(error))) return new BlobsFull('The storage of the service is full.', { cause: error })
  return new BlobsUnavailable('The storage of files does not answer, or refuses.', { cause: error })
}
