import type { Runyard } from '@runyard/client'
import { BASE_URL } from './client.ts'

/**
 * Where the bytes of an artifact are, for 15 minutes. The service signs links for its public address; this page may have been
 * opened at another one of it, and reads from there.
 */
export async function linkToArtifact(client: Runyard, artifact_uid: string): Promise<string> {
  const { data } = await client.artifacts.retrieve(artifact_uid)
  const { pathname, search } = new URL(data.download_url)
  return new URL(pathname.slice(pathname.indexOf('/downloads/') + 1) + search, BASE_URL).href
}

export async function readArtifact(
  client: Runyard,
  artifact_uid: string,
  signal?: AbortSignal,
): Promise<Response> {
  const link = await linkToArtifact(client, artifact_uid)
  const answer = await fetch(link, signal ? { signal } : {})
  if (!answer.ok) throw new Error(`The file could not be read: the service answered ${answer.status}.`)
  return answer
}
