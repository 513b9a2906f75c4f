import { buffer } from 'node:stream/consumers'
import { type Blobs, BlobsUnavailable } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { FencedStore } from './fenced-store.ts'

/**
 * Writes the run's attachments that the workspace does not hold yet. Each is written once into a workspace: from then on it
 * is the agent's to change. Throws `resource_unavailable` when one is not there any more, or cannot be read: an agent that was
 * told of a file must not go on without it.
 */
export async function writeAttachments(
  store: FencedStore,
  { blobs, sandbox }: { blobs: Blobs; sandbox: Sandbox },
): Promise<void> {
  for (const { attachment_id, file_name, blob_key, path } of await store.readAwaitedAttachments()) {
    const data = await readBlob(store, blobs, { blob_key, file_name })
    if (!data) {
      throw new AppError(
        'resource_unavailable',
        `The attachment "${file_name}" is not in the service's storage.`,
      )
    }
    await sandbox.writeFile(`/workspace/${path}`, data)
    await store.markAttachmentWritten(attachment_id)
  }
}

async function readBlob(
  store: FencedStore,
  blobs: Blobs,
  { blob_key, file_name }: { blob_key: string; file_name: string },
): Promise<Buffer | null> {
  try {
    return await store.passing(async () => {
      const data = await blobs.get(blob_key)
      return data && (await buffer(data))
    })
  } catch (error) {
    if (!(error instanceof BlobsUnavailable)) throw error
    throw new AppError(
      'resource_unavailable',
      `The attachment "${file_name}" cannot be read. ${error.message}`,
      {
        cause: error,
      },
    )
  }
}
