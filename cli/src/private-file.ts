import { randomUUID } from 'node:crypto'
import { type linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Where the user's own settings are. */
export const userFolder = (environment: NodeJS.ProcessEnv): string =>
  join(environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config'), 'runyard')

/** The text of a file that only this user can read; null for any other, and where there is none. */
export function readPrivately(file: string): string | null {
  try {
    const { uid, mode } = statSync(file)
    const is_private = process.getuid === undefined || (uid === process.getuid() && (mode & 0o077) === 0)
    return is_private ? readFileSync(file, 'utf8') : null
  } catch {
    return null
  }
}

/** Puts the whole file in its place, by default over one that is there; false when `put` does not replace and one is. */
export function writePrivately(file: string, content: object, put: typeof linkSync = renameSync): boolean {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}`
  writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  try {
    put(temporary, file)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(temporary, { force: true })
  }
}
