import { constants, existsSync, statSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import { quote, SandboxFault } from './sandbox.ts'

/**
 * How paths become reachable for a sandbox's user. `bwrap` opens what it binds as that user, who cannot pass through
 * directories such as `/root`; where a path lies behind one, root first binds it to where anybody may pass, in a mount
 * namespace of that launch alone.
 */
export interface Staging {
  /** Lines of the launch script; none when everything is reachable as it is. */
  script: string[]
  /** Where a path, or one below a staged directory, is to be bound from. */
  at(path: string): string
}

/** Places a private mount may cover: they are on every Linux and hold nothing a sandbox is made of. */
const STAGES = ['/mnt', '/media', '/srv', '/opt', '/home']

/** Plans for `paths`, each a file or a directory; throws when no place is left to stage them in. */
export function planStaging(paths: string[]): Staging {
  const hidden = paths.filter((path) => existsSync(path) && !isReachable(path))
  if (hidden.length === 0) return { script: [], at: (path) => path }
  const stage = STAGES.find(
    (place) => existsSync(place) && isReachable(place) && !paths.some((path) => isUnder(path, place)),
  )
  if (!stage)
    throw new SandboxFault(`None of ${STAGES.join(', ')} is free to pass ${hidden.join(', ')} through`)
  const targets = hidden.map((path, index) => ({ path, target: `${stage}/${index}` }))
  const script = [
    'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
    `mount -t tmpfs -o mode=755,size=64k runyard ${stage} || exit 125`,
    ...targets.map(({ path, target }) => {
      const make = statSync(path).isDirectory() ? 'mkdir' : ':>'
      return `${make} ${target} && mount --bind ${quote(path)} ${target} || exit 125`
    }),
  ]
  const at = (path: string) => {
    const staged = targets.find((target) => isUnder(path, target.path))
    return staged ? staged.target + path.slice(staged.path.length) : path
  }
  return { script, at }
}

export function isUnder(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep)
}

function isReachable(path: string): boolean {
  for (let parent = dirname(path); parent !== '/'; parent = dirname(parent))
    if ((statSync(parent).mode & constants.S_IXOTH) === 0) return false
  return true
}
