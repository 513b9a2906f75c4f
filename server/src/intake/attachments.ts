import type { Readable } from 'node:stream'
import { v7 as uuidv7 } from 'uuid'
import { type Blobs, BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'
import type { Attachment, FollowupAttachment } from '../contract/run-request.ts'
import { readKeptBytes, type StoredAttachment } from '../store/attachments.ts'
import type { Db } from '../store/db.ts'

const MiB = 1024 ** 2
const RETRY_AFTER_SECONDS = '60'

/** A file that went to the storage while its request was received. */
export interface ReceivedFile {
  blob_key: string
  size_bytes: number
}

/** Those of a request, by the word that stands for their data. */
export interface Received {
  sizeOf(word: string): number | null
  /** From then on it belongs to who claims it. */
  claim(word: string): ReceivedFile | null
}

export interface AttachmentServices {
  db: Db
  blobs: Blobs
  received?: Received | undefined
  /** What one run may keep. */
  max_run_files_bytes: number
}

/** Those with data; what was prepared is stored already. The bytes go to the blobs before the row exists. Throws when they are too many, for the run or for the service. */
export async function storeAttachments(
  services: AttachmentServices,
  run_id: string,
  given: ReadonlyArray<Attachment | FollowupAttachment>,
): Promise<StoredAttachment[]> {
  const attachments = given.flatMap(({ file_name, mime_type, data }) =>
    data === undefined || file_name === undefined || mime_type === undefined
      ? []
      : [{ file_name, mime_type, data }],
  )
  if (attachments.length === 0) return []
  const names = new Set(attachments.map((attachment) => attachment.file_name))
  if (names.size < attachments.length) {
    throw new AppError('invalid_request', 'attachments: two have the same file_name.')
  }
  const { received } = services
  const sizes = attachments.map(({ data }) => received?.sizeOf(data) ?? Buffer.byteLength(data, 'base64'))
  await requireRoom(services, run_id, sum(sizes))
  return storeAll(
    services,
    run_id,
    attachments,
    async ({ data }) => received?.claim(data) ?? Buffer.from(data, 'base64'),
  )
}

/** Stores files of an earlier run once more, for a run of its own. */
export async function copyAttachments(
  services: AttachmentServices,
  run_id: string,
  files: readonly StoredAttachment[],
): Promise<StoredAttachment[]> {
  if (files.length === 0) return []
  await requireRoom(services, run_id, sum(files.map(({ size_bytes }) => size_bytes)))
  return storeAll(services, run_id, files, async ({ blob_key }) => {
    const data = await services.blobs.get(blob_key)
    if (data) return data
    const detail =
      'attachments: the files of the earlier run are not kept any more. Give them again, or [] for none.'
    throw new AppError('invalid_request', detail)
  })
}

async function storeAll<F extends Pick<StoredAttachment, 'file_name' | 'mime_type'>>(
  { blobs }: AttachmentServices,
  run_id: string,
  files: readonly F[],
  open: (file: F) => Promise<Readable | Uint8Array | ReceivedFile>,
): Promise<StoredAttachment[]> {
  const stored: StoredAttachment[] = []
  try {
    for (const file of files) {
      const { file_name, mime_type } = file
      const attachment_id = uuidv7()
      const opened = await open(file)
      if ('blob_key' in opened) {
        stored.push({ attachment_id, file_name, mime_type, ...opened })
        continue
      }
      const blob_key = `runs/${run_id}/attachments/${attachment_id}`
      const size_bytes = await blobs.put(blob_key, opened)
      stored.push({ attachment_id, file_name, mime_type, size_bytes, blob_key })
    }
    return stored
  } catch (error) {
    await removeAttachments(blobs, stored)
    return refuseUnstored(error)
  }
}

/** Throws what people are told of a failure to store a file. */
export function refuseUnstored(error: unknown): never {
  if (!(error instanceof BlobsUnavailable)) throw error
  throw new AppError('resource_unavailable', `${error.message} Attachments are not taken for now.`, {
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
    cause: error,
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

/** Throws 413 when the run would keep too many bytes. */
export async function requireRoom(
  { db, max_run_files_bytes }: Pick<AttachmentServices, 'db' | 'max_run_files_bytes'>,
  run_id: string,
  sent: number,
): Promise<void> {
  if (sent + (await readKeptBytes(db, run_id)) <= max_run_files_bytes) return
  throw new AppError(
    'invalid_request',
    `attachments: a run keeps at most ${max_run_files_bytes / MiB} MiB of files, its artifacts included (RUNYARD_MAX_RUN_FILES_MB).`,
    { status: 413 },
  )
}

/**
 * Does something with stored attachments and removes them unless it says that it used them or fails without saying so for
 * certain: a message that is refused or was sent before must not fill the disk.
 */
export async function withAttachments<T>(
  blobs: Blobs,
  stored: readonly StoredAttachment[],
  work: () => Promise<{ used: boolean; result: T }>,
): Promise<T> {
  try {
    const { used, result } = await work()
    if (!used) await removeAttachments(blobs, stored)
    return result
  } catch (error) {
    // Any other failure may have come after the commit.
    if (error instanceof AppError && error.status < 500) await removeAttachments(blobs, stored)
    throw error
  }
}

const removeAttachments = async (blobs: Blobs, stored: readonly StoredAttachment[]): Promise<void> => {
  for (const { blob_key } of stored) await discardBlob(blobs, blob_key)
}
