import type { Attachment } from '@runyard/client'

/** Files that one message may carry. */
export const MOST_FILES = 5

/** A file as the API takes it. */
export async function readAttachment(file: File): Promise<Attachment> {
  return {
    file_name: file.name,
    mime_type: file.type || 'application/octet-stream',
    data: await toBase64(file),
  }
}

/** By a data URL, since not every browser has `Uint8Array.prototype.toBase64`. */
function toBase64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`))
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.readAsDataURL(file)
  })
}
