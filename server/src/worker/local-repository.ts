import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { isAbsolute, resolve, sep } from 'node:path'
import type { WorkerSettings } from './context.ts'
import { SetupFailed } from './setup-step.ts'

/** A file in place of a directory says where that is; one line. */
const POINTER_BYTES = 4096
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

/** A git directory, open. What is read of it is read below these: renaming or linking anything changes nothing any more. */
export interface LocalRepository {
  /** As its environment names it. */
  name: string
  /** Holds HEAD: a linked worktree's own directory, else the same as `common`. */
  own: FileHandle
  /** Holds refs and objects. */
  common: FileHandle
  close(): Promise<void>
}

/** A path inside an open directory. */
export const inside = (directory: FileHandle, name: string): string => `/proc/self/fd/${directory.fd}/${name}`

export const isBelow = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep)

/**
 * Opens the repository at `name`, which with everything that it points to must lie below the folder that the operator
 * opened and outside the service's own data. Throws `SetupFailed`, with the same words whatever is in the way: else
 * they would say what else there is on this machine.
 */
export async function openLocalRepository(
  name: string,
  settings: Pick<WorkerSettings, 'local_repos' | 'data_dir'>,
): Promise<LocalRepository> {
  const { local_repos } = settings
  if (!local_repos)
    throw new SetupFailed('Local repositories are not open here: the operator sets RUNYARD_LOCAL_REPOS.')
  const opened: FileHandle[] = []
  const close = async () => void (await Promise.all(opened.map((directory) => directory.close())))
  try {
    const root = await realpath(local_repos)
    const data = await realpath(settings.data_dir)
    const openDirectory = async (path: string): Promise<FileHandle> => {
      const directory = await open(path, O_RDONLY | O_DIRECTORY)
      opened.push(directory)
      // Asked of the open directory: a path that was checked first could lead elsewhere by the time it is opened.
      const real = await readlink(`/proc/self/fd/${directory.fd}`)
      if (!isBelow(real, root) || isBelow(real, data)) throw new Error('It lies elsewhere.')
      return directory
    }
    const follow = (base: FileHandle, pointer: string) =>
      openDirectory(isAbsolute(pointer) ? pointer : inside(base, pointer))

    const place = await openDirectory(resolve(root, name))
    const own = await openGitDirectory(place, openDirectory, follow)
    const elsewhere = await readPointer(inside(own, 'commondir'))
    const common = elsewhere === null ? own : await follow(own, elsewhere)
    const parts = await Promise.all([
      lstat(inside(own, 'HEAD')),
      lstat(inside(common, 'objects')),
      lstat(inside(common, 'refs')),
    ])
    if (!parts[0].isFile() || !parts[1].isDirectory() || !parts[2].isDirectory())
      throw new Error('It is no git directory.')
    return { name, own, common, close }
  } catch (error) {
    await close()
    throw new SetupFailed(
      `There is no local repository at ${name} below RUNYARD_LOCAL_REPOS. runyard dev opens the folder where it was started.`,
      { cause: error },
    )
  }
}

/** `.git` is a directory, or a file that names one (linked worktrees, submodules); without it, `place` may be bare. */
async function openGitDirectory(
  place: FileHandle,
  openDirectory: (path: string) => Promise<FileHandle>,
  follow: (base: FileHandle, pointer: string) => Promise<FileHandle>,
): Promise<FileHandle> {
  const path = inside(place, '.git')
  const entry = await lstat(path).catch(() => null)
  if (entry === null) return place
  if (!entry.isFile()) return openDirectory(path)
  const [, pointer] = /^gitdir: (.+)$/.exec((await readPointer(path)) ?? '') ?? []
  if (pointer === undefined) throw new Error('Its .git names no directory.')
  return follow(place, pointer)
}

/** What a small file says, without the end of its line; `null` when it is not there. */
async function readPointer(path: string): Promise<string | null> {
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (file === null) return null
  try {
    const { size } = await file.stat().then((stat) => (stat.isFile() ? stat : { size: Number.NaN }))
    if (!(size <= POINTER_BYTES)) throw new Error('It is no small file.')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(POINTER_BYTES))
    return buffer.toString('utf8', 0, bytesRead).replace(/[\r\n]+$/, '')
  } finally {
    await file.close()
  }
}
