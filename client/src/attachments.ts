import type { APIPromise } from './api-promise.ts'
import { RunyardError } from './errors.ts'
import type { Path } from './path.ts'
import { request, requestJson } from './request.ts'
import type { FollowupAttachment, PrepareAttachmentsRequest, PrepareAttachmentsResponse } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** A file for a follow-up: its bytes, or text, which is sent as UTF-8. At most 10 MiB. */
export interface UploadFile {
  /** A plain name, without folders. */
  file_name: string
  /** Such as `image/png`. */
  mime_type: string
  content: string | Uint8Array | ArrayBuffer | Blob
}

/** Asks for an address for each file. `place` is the run or conversation. */
export const prepareAttachments = (
  transport: Transport,
  place: readonly string[],
  body: PrepareAttachmentsRequest,
  options?: RequestOptions,
): APIPromise<PrepareAttachmentsResponse> => {
  const path: Path = [...place, 'attachments', 'prepare']
  return requestJson(transport, { method: 'POST', path, body }, options)
}

/** Prepares the files, uploads them one after another, and returns what a follow-up names them by. */
export async function uploadAttachments(
  transport: Transport,
  place: readonly string[],
  files: readonly UploadFile[],
  options: RequestOptions = {},
): Promise<FollowupAttachment[]> {
  const named = files.map(({ file_name, mime_type }) => ({ file_name, mime_type }))
  const { attachments } = await prepareAttachments(transport, place, { attachments: named }, options)
  const references: FollowupAttachment[] = []
  for (const [at, { content, mime_type }] of files.entries()) {
    const prepared = attachments[at]
    if (!prepared) throw new RunyardError('The service prepared fewer attachments than it was asked for.')
    const upload = { content: await toBody(content), mime_type }
    const call = { method: 'PUT', link: prepared.upload_url, upload } as const
    await request(transport, call, options, (response) => response.text())
    references.push({ attachment_id: prepared.attachment_id })
  }
  return references
}

async function toBody(content: UploadFile['content']): Promise<string | ArrayBuffer> {
  if (content instanceof Blob) return content.arrayBuffer()
  // A copy, because a view may show only a part of its buffer.
  return content instanceof Uint8Array ? new Uint8Array(content).buffer : content
}
