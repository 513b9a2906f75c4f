import { constants } from 'node:fs'
import { open, opendir } from 'node:fs/promises'
import { join } from 'node:path'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * A look from outside at a folder of which the sandbox can make anything: only whether something is there. A link in its
 * place counts as something and is not followed.
 */
export const isEmptyFolder = (path: string): Promise<boolean> => holdsOnly(path, [])

/** The same, whether there is nothing but empty folders of these names. */
export async function holdsOnlyEmpty(path: string, folders: readonly string[]): Promise<boolean> {
  if (!(await holdsOnly(path, folders))) return false
  const empty = await Promise.all(folders.map((name) => isEmptyFolder(join(path, name))))
  return !empty.includes(false)
}

async function holdsOnly(path: string, names: readonly string[]): Promise<boolean> {
  try {
    const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    try {
      // By its descriptor: the path may lead elsewhere by now.
      for await (const { name } of await opendir(`/proc/self/fd/${folder.fd}`))
        if (!names.includes(name)) return false
      return true
    } finally {
      await folder.close()
    }
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
  }
}
