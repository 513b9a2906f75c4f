import type { ArtifactResponse, Runyard } from '@runyard/client'
import { BASE_URL } from './client.ts'
import { formatBytes } from './text/format.ts'

/**
 * Where the bytes of an artifact are, for 15 minutes. The service signs links for its public address; this page may have been
 * opened at another one of it, and reads from there.
 */
export const linkToArtifact = async (client: Runyard, artifact_uid: string): Promise<string> =>
  linkOf(await client.artifacts.retrieve(artifact_uid))

function linkOf({ data }: ArtifactResponse): string {
  const { pathname, search } = new URL(data.download_url)
  return new URL(pathname.slice(pathname.indexOf('/downloads/') + 1) + search, BASE_URL).href
}

/** The bytes. Nothing is read of a file with more than `max_bytes`: the error says so. */
export async function readArtifact(
  client: Runyard,
  artifact_uid: string,
  { signal, max_bytes = Number.POSITIVE_INFINITY }: { signal?: AbortSignal; max_bytes?: number } = {},
): Promise<Response> {
  const artifact = await client.artifacts.retrieve(artifact_uid)
  const { size_bytes } = artifact.data
  if (size_bytes > max_bytes)
    throw new Error(
      `This file has ${formatBytes(size_bytes)}; up to ${formatBytes(max_bytes)} are shown here. Download it instead.`,
    )
  const answer = await fetch(linkOf(artifact), signal ? { signal } : {})
  if (!answer.ok) throw new Error(`The file could not be read: the service answered ${answer.status}.`)
  return answer
}
