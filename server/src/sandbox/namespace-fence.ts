import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { NAMESPACE_MAXIMA } from './kernel-limits.ts'

const run = promisify(execFile)
const TRIAL_MS = 5_000
const SETTINGS = '/proc/sys/user'

/** Of util-linux. */
export interface FencePrograms {
  prlimit: string
  unshare: string
}

/** As the kernel writes them. */
const NAMES: Record<string, string> = {
  nofile: 'open files',
  sigpending: 'pending signals',
  msgqueue: 'msgqueue size',
  memlock: 'locked memory',
}

/**
 * Words that start the program behind them in a user namespace which only limits: the kernel holds what is counted by user
 * below its maxima for everything in it together, whatever namespaces are made within. `bwrap` makes the sandbox's own there.
 */
export function makeFence({ prlimit, unshare }: FencePrograms, limits: Record<string, number>): string[] {
  const settings = Object.entries(NAMESPACE_MAXIMA).map(
    ([name, most]) => `echo ${most} > ${SETTINGS}/${name}`,
  )
  return [
    prlimit,
    ...Object.entries(limits).map(([name, most]) => {
      const kept = Math.min(most, ownLimit(name))
      return `--${name}=${kept}:${kept}`
    }),
    ...[unshare, '--user', '--map-root-user', '--'],
    // Where `/proc/sys` cannot be written to, the limits of processes hold all the same.
    ...['/bin/sh', '-c', `{ ${settings.join('; ')}; } 2>/dev/null; exec "$@"`, 'sh'],
  ]
}

/** Only a lower limit than one's own can be set. */
function ownLimit(name: string): number {
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const hard = new RegExp(`^Max ${NAMES[name]} +\\S+ +(\\d+)`, 'm').exec(limits)?.[1]
  return hard === undefined ? Number.POSITIVE_INFINITY : Number(hard)
}

/** What makes fences here; `null` where nothing does: a program is missing, or namespaces cannot be nested. */
export async function findFence(found: {
  prlimit: string | null
  unshare: string | null
}): Promise<FencePrograms | null> {
  const { prlimit, unshare } = found
  if (!prlimit || !unshare) return null
  const programs = { prlimit, unshare }
  const [name, most] = ['max_inotify_instances', NAMESPACE_MAXIMA.max_inotify_instances]
  const [file = '', ...words] = [...makeFence(programs, {}), '/bin/cat', `${SETTINGS}/${name}`]
  try {
    const { stdout } = await run(file, words, { timeout: TRIAL_MS })
    return Number(stdout) === most ? programs : null
  } catch {
    return null
  }
}
