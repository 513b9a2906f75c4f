import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open as openFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ArtifactResponse } from '@runyard/client'
import { cleanText, TextCleaner } from './clean-text.ts'
import { currentProcess, resolvePath } from './current-process.ts'
import { CommandFailure, EXIT, usageFailure } from './failure.ts'
import type { Output } from './output.ts'

/** What is to arrive. */
interface Downloadable {
  data: Pick<ArtifactResponse['data'], 'download_url' | 'size_bytes' | 'sha256'>
}

/** Most file systems allow 255. */
const LONGEST_NAME_BYTES = 200

/** A name made by an agent, as one that stays in this directory and shows as what it is. */
export function safeFileName(name: string): string {
  const clean = basename(cleanText(name).replaceAll('\\', '/'))
    .replace(/[\s<>:"|?*~]+/g, '_')
    .replace(/^[.-]+/, '')
  return shorten(clean) || 'artifact'
}

/** With its dot; empty if there is none, or a long one. */
export const extensionOf = (name: string): string => /\.\w{1,10}$/.exec(name)?.[0] ?? ''

/** Its beginning, and its extension where that is a short one. */
function shorten(name: string): string {
  const extension = extensionOf(name)
  const letters = [...name.slice(0, name.length - extension.length)]
  while (Buffer.byteLength(letters.join('')) > LONGEST_NAME_BYTES - extension.length) letters.pop()
  return letters.join('') + extension
}

/** Where to, and how. */
interface SaveOptions {
  force: boolean
  output: Output
}

/** Saves the artifact; what is not what it should be counts as incomplete. */
export const download = (artifact: Downloadable, file: string, options: SaveOptions): Promise<void> =>
  saveBytes(() => openArtifact(artifact), file, options)

/**
 * Writes what comes to a file that is not there yet, unless `force`, or to standard output for `-`. What is incomplete leaves no
 * file, and the one that `force` replaces as it was.
 */
export async function saveBytes(
  open: () => Promise<AsyncIterable<Uint8Array>>,
  file: string,
  options: SaveOptions,
): Promise<void> {
  if (file === '-') {
    await print(await open(), options.output)
    return
  }
  const place = resolvePath(file)
  // Beside its place, so that it gets there in one step.
  const target = options.force ? join(dirname(place), `.${randomUUID()}.part`) : place
  const handle = await openNew(target, file)
  try {
    await pipeline(await open(), handle.createWriteStream())
    if (target !== place) await rename(target, place)
  } catch (error) {
    // Nobody else's: it was made just now.
    await rm(target, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** `given`: as the person named it. */
async function openNew(path: string, given: string): Promise<FileHandle> {
  try {
    return await openFile(path, 'wx')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'EEXIST') throw error
    throw usageFailure(`${given} exists already.`, '--force replaces it, --file names another')
  }
}

/** The artifact in memory: all of it, and what it should be. */
export async function readArtifact(artifact: Downloadable): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of await openArtifact(artifact)) {
    bytes += chunk.length
    if (bytes > artifact.data.size_bytes) throw differs('more came than there is')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Its bytes as they come; throws at their end where they are not what they should be. */
async function openArtifact({ data }: Downloadable): Promise<AsyncGenerator<Uint8Array>> {
  const body = await openDownload(data.download_url)
  const digest = createHash('sha256')
  const chunks = async function* () {
    for await (const chunk of body) {
      digest.update(chunk)
      yield chunk
    }
    if (digest.digest('hex') !== data.sha256) throw differs('the checksum differs')
  }
  return chunks()
}

const differs = (how: string): CommandFailure =>
  new CommandFailure(`What arrived is not what the artifact was: ${how}.`, {
    hint: 'try again; the artifact may have been cut off on its way',
  })

async function openDownload(url: string): Promise<ReadableStream<Uint8Array>> {
  const failed = (why: string, cause?: unknown): CommandFailure =>
    new CommandFailure(`The download failed: ${why}.`, { exit_code: EXIT.unreachable, cause })
  if (!/^https?:/i.test(url)) throw failed('its address is not an http one')
  const response = await fetch(url).catch((error: Error) => {
    throw failed(error.cause instanceof Error ? error.cause.message : error.message, error)
  })
  if (!response.ok || !response.body) throw failed(`the server answered ${response.status}`)
  return response.body
}

/** A terminal would act on what is in the file. */
async function print(chunks: AsyncIterable<Uint8Array>, output: Output): Promise<void> {
  if (!output.terminal || output.raw) {
    await pipeline(chunks, currentProcess().stdout, { end: false })
    return
  }
  const decoder = new TextDecoder()
  const cleaner = new TextCleaner()
  for await (const chunk of chunks) output.write(cleaner.push(decoder.decode(chunk, { stream: true })))
}
