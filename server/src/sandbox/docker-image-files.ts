import type { IncomingMessage } from 'node:http'
import type Docker from 'dockerode'
import { unpackTar } from 'modern-tar'
import { statusOf } from './docker-engine.ts'

/** The lowest type bit of Go's `os.FileMode`: a mode at or above it is a link, a folder, a pipe or a device. */
const LEAST_SPECIAL_MODE = 2 ** 19

export interface FileInside {
  /** Where it lies, with every link followed. */
  path: string
  is_ordinary: boolean
  is_executable: boolean
  bytes: number
}

/** Looks at a path in a container that has no volumes. `null`: nothing is there, or a link that leads to nothing. */
export async function statInside(container: Docker.Container, path: string): Promise<FileInside | null> {
  const end = await followLinks(container, path)
  const found = await readStat(container, end)
  return (
    found && {
      path: end,
      is_ordinary: found.mode < LEAST_SPECIAL_MODE,
      is_executable: found.mode < LEAST_SPECIAL_MODE && (found.mode & 0o111) !== 0,
      bytes: found.size,
    }
  )
}

/** Where a path ends if it is a link; the path itself if it is none or nothing is there. Links of its folders stay in it. */
export async function followLinks(container: Docker.Container, path: string): Promise<string> {
  return (await readStat(container, path))?.linkTarget || path
}

/** Reads a file that `statInside` found to be an ordinary one of few bytes. */
export async function readInside(container: Docker.Container, { path }: FileInside): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of await container.getArchive({ path })) chunks.push(Buffer.from(chunk))
  const [file] = await unpackTar(Buffer.concat(chunks))
  return Buffer.from(file?.data ?? []).toString('latin1')
}

interface Stat {
  mode: number
  size: number
  linkTarget: string
}

async function readStat(container: Docker.Container, path: string): Promise<Stat | null> {
  try {
    const answer: IncomingMessage = await container.infoArchive({ path })
    answer.resume()
    const stat = String(answer.headers['x-docker-container-path-stat'])
    return JSON.parse(Buffer.from(stat, 'base64').toString())
  } catch (error) {
    if (statusOf(error) === 404) return null
    throw error
  }
}
