import { v7 as uuidv7 } from 'uuid'
import { type Blobs, BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'
import type { Attachment } from '../contract/run-request.ts'
import { readKeptBytes, type StoredAttachment } from '../store/attachments.ts'
import type { Db } from '../store/db.ts'

const MiB = 1024 ** 2
const RETRY_AFTER_SECONDS = '60'

interface AttachmentServices {
  db: Db
  blobs: Blobs
  /** What one run may keep. */
  max_run_files_bytes: number
}

/** The bytes go to the blobs before the row exists. Throws when they are too many, for the run or for the service. */
export async function storeAttachments(
  services: AttachmentServices,
  run_id: string,
  attachments: readonly Attachment[],
): Promise<StoredAttachment[]> {
  if (attachments.length === 0) return []
  const names = new Set(attachments.map((attachment) => attachment.file_name))
  if (names.size < attachments.length) {
    throw new AppError('invalid_request', 'attachments: two have the same file_name.')
  }
  await requireRoom(services, run_id, attachments)
  const stored: StoredAttachment[] = []
  try {
    for (const { file_name, mime_type, data } of attachments) {
      const attachment_id = uuidv7()
      const blob_key = `runs/${run_id}/attachments/${attachment_id}`
      const size_bytes = await services.blobs.put(blob_key, Buffer.from(data, 'base64'))
      stored.push({ attachment_id, file_name, mime_type, size_bytes, blob_key })
    }
    return stored
  } catch (error) {
    await removeAttachments(services.blobs, stored)
    if (!(error instanceof BlobsUnavailable)) throw error
    throw new AppError('resource_unavailable', `${error.message} Attachments are not taken for now.`, {
      headers: { 'retry-after': RETRY_AFTER_SECONDS },
      cause: error,
    })
  }
}

async function requireRoom(
  { db, max_run_files_bytes }: AttachmentServices,
  run_id: string,
  attachments: readonly Attachment[],
): Promise<void> {
  const sent = attachments.reduce((bytes, { data }) => bytes + Buffer.byteLength(data, 'base64'), 0)
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
