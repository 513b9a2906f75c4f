import { BASE_URL } from './client.ts'
import { formatBytes } from './text/format.ts'

/** A file as the service links to it, for 15 minutes. */
export interface LinkedFile {
  download_url: string
  size_bytes: number
}

export interface ReadOptions {
  signal?: AbortSignal
  max_bytes?: number
}

/** The service signs links for its public address; this page may have been opened at another one of it, and reads from there. */
export function linkOf({ download_url }: Pick<LinkedFile, 'download_url'>): string {
  const { pathname, search } = new URL(download_url)
  return new URL(pathname.slice(pathname.indexOf('/downloads/') + 1) + search, BASE_URL).href
}

/** The bytes. Nothing is read of a file with more than `max_bytes`: the error says so. */
export async function readLinked(
  file: LinkedFile,
  { signal, max_bytes = Number.POSITIVE_INFINITY }: ReadOptions = {},
): Promise<Response> {
  if (file.size_bytes > max_bytes) throw new Error(tooLarge(file.size_bytes, max_bytes))
  const answer = await fetch(linkOf(file), signal ? { signal } : {})
  if (!answer.ok) throw new Error(`The file could not be read: the service answered ${answer.status}.`)
  return answer
}

export const tooLarge = (bytes: number, max_bytes: number): string =>
  `This file has ${formatBytes(bytes)}; up to ${formatBytes(max_bytes)} are shown here. Download it instead.`
