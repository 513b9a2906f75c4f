import { readdirSync, readFileSync } from 'node:fs'
import { SandboxFault } from './sandbox.ts'
import { until } from './until.ts'

interface ProcessEntry {
  pid: number
  state: string
  parent: number
}

/** Rounds of looking for processes forked while the last round ran. */
const ROUNDS = 500
/** Rounds in a row that find no new one: while `/proc` is read, a process can end behind the one it has just forked. */
const QUIET_ROUNDS = 3
/** What takes longer has failed for now; the caller tries again. */
const LIMIT_MS = 1000
/** Of a process that does not run: stopped, or traced and stopped. */
const STANDS = 'Tt'
/** Of one that waits for a disk, or for its child after `vfork(2)`: no stop reaches it before that is over. */
const UNINTERRUPTIBLE = 'D'

/**
 * Freezing and killing without control groups: the processes `isRoot` names and all their descendants, looked up in
 * `/proc` until a few rounds find no new one. Weaker than a control group: it can lose a race against a fork bomb, never
 * against a process namespace, whose members all die with its first process. Throws `SandboxFault` when after a second one of
 * them still runs, or with `SIGKILL` is still there.
 */
export async function signalTree(
  isRoot: (pid: number) => boolean,
  signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL',
): Promise<void> {
  await signalAll(isRoot, signal)
  if (signal === 'SIGCONT') return
  const left = () => {
    const entries = findEntries(isRoot)
    return signal === 'SIGKILL' ? entries.length : findRunning(entries).length
  }
  // A signal that is on its way needs no other; what was forked meanwhile does.
  if (await until(() => left() === 0, LIMIT_MS / 2)) return
  await signalAll(isRoot, signal)
  if (await until(() => left() === 0, LIMIT_MS / 2)) return
  const done = signal === 'SIGKILL' ? 'killed' : 'stopped'
  throw new SandboxFault(`${left()} processes of the sandbox could not be ${done} in time`)
}

/**
 * Those that do not stand. After `vfork(2)`, with which shells start programs, a parent waits for its child in a sleep that no
 * stop reaches: where the child was stopped first, the parent stands as well, and stops when the child goes on.
 */
function findRunning(entries: readonly ProcessEntry[]): ProcessEntry[] {
  const stand = entries.filter(({ state }) => STANDS.includes(state))
  const held_up = new Set(stand.map(({ parent }) => parent))
  return entries.filter(
    ({ pid, state }) => !STANDS.includes(state) && !(state === UNINTERRUPTIBLE && held_up.has(pid)),
  )
}

async function signalAll(isRoot: (pid: number) => boolean, signal: NodeJS.Signals): Promise<void> {
  const reached = new Set<number>()
  for (let round = 0, quiet = 0; round < ROUNDS && quiet < QUIET_ROUNDS; round++) {
    const fresh = findTree(isRoot).filter((pid) => !reached.has(pid))
    quiet = fresh.length === 0 ? quiet + 1 : 0
    for (const pid of fresh) {
      reached.add(pid)
      try {
        process.kill(pid, signal)
      } catch {
        // It ended, or belongs to somebody else who only looks like ours.
      }
    }
  }
}

/** Ids of living processes for which `isRoot` holds, and of all their descendants, parents first. */
export const findTree = (isRoot: (pid: number) => boolean): number[] =>
  findEntries(isRoot).map(({ pid }) => pid)

function findEntries(isRoot: (pid: number) => boolean): ProcessEntry[] {
  const entries = readProcesses()
  const children = Map.groupBy(entries, (entry) => entry.parent)
  const found = new Set<ProcessEntry>()
  const add = (entry: ProcessEntry) => {
    if (found.has(entry)) return
    found.add(entry)
    for (const child of children.get(entry.pid) ?? []) add(child)
  }
  for (const entry of entries) if (entry.pid !== process.pid && isRoot(entry.pid)) add(entry)
  return [...found]
}

/** The mark that the processes of a sandbox carry, in a command line or an environment, with its owner's attempt. */
export function makeMarker(sandbox: string, attempt: number): string {
  return `${sandbox}-${attempt}`
}

/** Whether the marker names this sandbox under the owner of `attempt` or an earlier one. */
export function isMarkedBy(marker: string, sandbox: string, attempt: number): boolean {
  return marker.startsWith(`${sandbox}-`) && Number(marker.slice(sandbox.length + 1)) <= attempt
}

/** The environment the process was started with; empty when it is gone or not ours to see. */
export function readEnvironment(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** When the process was started, in clock ticks since boot: with the pid it names one process. `null` when it has ended. */
export function readStartTime(pid: number): string | null {
  const stat = readStat(pid)
  return stat === null || stat.state === 'Z' ? null : stat.started
}

function readProcesses(): ProcessEntry[] {
  const entries: ProcessEntry[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = readStat(Number(name))
    if (stat && stat.state !== 'Z')
      entries.push({ pid: Number(name), state: stat.state, parent: stat.parent })
  }
  return entries
}

/** `null` when there is no such process (any more). */
function readStat(pid: number): { state: string; parent: number; started: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything; the fields after it, numbered from 3 in proc(5), are plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent = ''] = fields
    return { state, parent: Number(parent), started: fields[22 - 3] ?? '' }
  } catch {
    return null
  }
}
