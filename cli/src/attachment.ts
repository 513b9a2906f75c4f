import { basename } from 'node:path'
import type { Attachment } from '@runyard/client'
import mime from 'mime'
import { readNamedFile } from './read-input.ts'

/** A file as it travels with a prompt or a message. */
export const readAttachment = (file: string): Attachment => ({
  file_name: basename(file),
  mime_type: mime.getType(file) ?? 'application/octet-stream',
  data: readNamedFile(file).toString('base64'),
})
