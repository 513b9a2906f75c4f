import type { Runyard } from '@runyard/client'
import { linkOf, type ReadOptions, readLinked } from './file-link.ts'

export const linkToArtifact = async (client: Runyard, artifact_uid: string): Promise<string> =>
  linkOf((await client.artifacts.retrieve(artifact_uid)).data)

export const readArtifact = async (
  client: Runyard,
  artifact_uid: string,
  options: ReadOptions = {},
): Promise<Response> => readLinked((await client.artifacts.retrieve(artifact_uid)).data, options)
