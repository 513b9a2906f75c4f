import { buffer } from 'node:stream/consumers'
import type { Blobs } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { FencedStore } from './fenced-store.ts'

/**
 * Writes the run's attachments that the workspace does not hold yet. Each is written once into a workspace: from then on it
 * is the agent's to change. Throws `resource_unavailable` when one is not there any more: an agent that was told of a file
 * must not go on without it.
 */
export async function writeAttachments(
  store: FencedStore,
  { blobs, sandbox }: { blobs: Blobs; sandbox: Sandbox },
): Promise<void> {
  for (const { attachment_id, file_name, blob_key, path } of await store.readAwaitedAttachments()) {
    const data = await blobs.get(blob_key)
    if (!data) {
      throw new AppError(
        'resource_unavailable',
        `The attachment "${file_name}" is not in the service's storage.`,
      )
    }
    await sandbox.writeFile(`/workspace/${path}`, await buffer(data))
    await store.markAttachmentWritten(attachment_id)
  }
}
