import { constants } from 'node:fs'
import { open, opendir } from 'node:fs/promises'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * A look from outside at a folder of which the sandbox can make anything: only whether something is there. A link in its
 * place counts as something and is not followed.
 */
export async function isEmptyFolder(path: string): Promise<boolean> {
  try {
    const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    try {
      // By its descriptor: the path may lead elsewhere by now.
      const entries = await opendir(`/proc/self/fd/${folder.fd}`)
      const first = await entries.read()
      await entries.close()
      return first === null
    } finally {
      await folder.close()
    }
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
  }
}
