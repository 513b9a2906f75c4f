import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Sandboxes of before each had a user of their own, and images' own first user. */
export const SHARED_USER = 1000

/** Beyond accounts of people; a tar header has room for no higher number. */
const WIDE = { first: 0x100000, count: 0x100000 }
/** Where an engine's own namespace has 65,536 users, or may have. */
const NARROW = { first: 10_000, count: 50_000 }

/**
 * The user a sandbox's commands run as: its own, since the kernel counts much of what it limits by user. The same for the
 * same name, wherever that is asked.
 */
export function userOf(sandbox_id: string, { is_wide }: { is_wide: boolean }): number {
  const { first, count } = is_wide ? WIDE : NARROW
  return first + (createHash('sha256').update(sandbox_id).digest().readUInt32BE() % count)
}

/** Whether the engine certainly has all users of the kernel: it is on this machine, which has, and puts none aside. */
export function hasAllUsers(security_options: readonly string[], users = readUsers()): boolean {
  const is_apart = security_options.some((option) => /name=(rootless|userns)/.test(option))
  return !is_apart && /^(unix:|$)/.test(process.env.DOCKER_HOST ?? '') && users >= WIDE.first + WIDE.count
}

/** How many users this process's namespace has from number 0 on. */
function readUsers(): number {
  try {
    const [inside, , count] = readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\s+/)
    return inside === '0' ? Number(count) : 0
  } catch {
    return 0
  }
}
