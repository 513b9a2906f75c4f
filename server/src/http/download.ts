import type { Readable } from 'node:stream'
import { type Blobs, BlobsUnavailable } from '../blobs/blobs.ts'
import { AppError } from '../contract/error.ts'

/** Nothing that is downloaded may act as a page of this service. */
export const DOWNLOAD_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
} as const

/** `null` when there is none. Throws `resource_unavailable` when the storage does not answer. */
export async function openBlob(blobs: Blobs, key: string): Promise<Readable | null> {
  try {
    return await blobs.get(key)
  } catch (error) {
    if (!(error instanceof BlobsUnavailable)) throw error
    throw new AppError('resource_unavailable', error.message, {
      headers: { 'retry-after': '5' },
      cause: error,
    })
  }
}
