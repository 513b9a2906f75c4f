import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** A program on the PATH or in the usual places; `null` when it is in none. */
export function findProgram(name: string): string | null {
  const directories = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/bin', '/sbin', '/bin']
  return (
    directories
      .filter((directory) => directory.startsWith('/'))
      .map((directory) => join(directory, name))
      .find(isExecutable) ?? null
  )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
