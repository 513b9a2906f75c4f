import { basename } from 'node:path'
import type { Attachment, UploadFile } from '@runyard/client'
import mime from 'mime'
import { readNamedFile } from './read-input.ts'

/** A file that is uploaded before the message that names it. */
export const readUpload = (file: string): UploadFile & { content: Buffer } => ({
  file_name: basename(file),
  mime_type: mime.getType(file) ?? 'application/octet-stream',
  content: readNamedFile(file),
})

/** A file that goes inside the request for a run: nothing can be uploaded for a run that is not there yet. */
export function readAttachment(file: string): Attachment {
  const { content, ...named } = readUpload(file)
  return { ...named, data: content.toString('base64') }
}
