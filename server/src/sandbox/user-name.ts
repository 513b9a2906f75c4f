import { userInfo } from 'node:os'

/** Who runs this process; a number where the machine has no name for it, as containers with a user of their own. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.())
  }
}
