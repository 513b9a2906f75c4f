import { Readable } from 'node:stream'
import { create as writeDisposition } from 'content-disposition'
import { type Blobs, BlobsUnavailable } from '../blobs/blobs.ts'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { RouteDefinition } from '../contract/route.ts'
import { requireUnmasked } from '../store/grants.ts'
import { findRun } from '../store/runs.ts'
import { ownerOf } from './budget-owner.ts'
import type { Services } from './context.ts'
import { type Call, SENT } from './route.ts'

/** Nothing that is downloaded may act as a page of this service. */
export const DOWNLOAD_HEADERS = {
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
} as const

/** A file of a run. */
interface RunFile {
  run_id: string
  blob_key: string
}

/**
 * A file's bytes, in which nothing is masked, for those who may have them; `null` when there is none. Throws `not_authorized`, and
 * `resource_unavailable` when the storage does not answer. No route opens the storage by itself.
 */
export async function openUnmasked(
  { store, blobs }: Pick<Services, 'store' | 'blobs'>,
  { run_id, blob_key }: RunFile,
  actor: Actor,
  what: 'workspace' | 'files',
): Promise<Readable | null> {
  const run = await findRun(store.db, run_id, actor)
  if (!run) return null
  await requireUnmasked(store.db, actor, run, what)
  return openBlob(blobs, blob_key)
}

async function openBlob(blobs: Blobs, key: string): Promise<Readable | null> {
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

/** Redirects the caller to `path`, signed for them: what they download there needs no key for a while. */
export function redirectToDownload(
  { links, settings }: Pick<Services, 'links' | 'settings'>,
  { actor, reply }: Pick<Call<RouteDefinition>, 'actor' | 'reply'>,
  path: string,
): typeof SENT {
  reply.redirect(settings.downloads_url + links.sign(path, actor).path, 302)
  return SENT
}

/** The file as it is sent, one of so many of who asks. Throws 429. */
export function sendWithin(
  { downloads }: Pick<Services, 'downloads'>,
  actor: Actor,
  data: Readable,
): Readable {
  try {
    return downloads.open(ownerOf(actor), () => data)
  } catch (error) {
    data.destroy()
    throw error
  }
}

/**
 * The same bytes; fails if they are not as many as the answer says before them. What came too much would be taken for the next
 * answer on the connection, somebody else's maybe.
 */
export const exactly = (data: Readable, size: number): Readable =>
  Readable.from(counted(data, size), { objectMode: false })

async function* counted(data: AsyncIterable<Buffer>, size: number): AsyncGenerator<Buffer> {
  let sent = 0
  for await (const chunk of data) {
    sent += chunk.length
    if (sent > size) break
    yield chunk
  }
  if (sent !== size) throw new Error(`The file is not of the ${size} bytes that it should have.`)
}

/** What turns the order of letters shows `gpj.exe` as `exe.jpg`. */
const UNSHOWN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029/\\]/gu

/** RFC 6266: a name in plain letters for old programs, and the real one (RFC 8187) where that is another. */
export const describeDisposition = (filename: string, inline: boolean): string =>
  writeDisposition(filename.toWellFormed().replace(UNSHOWN, '_'), { type: inline ? 'inline' : 'attachment' })
