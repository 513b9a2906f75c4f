import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RunEvent } from '../../src/contract/event.ts'

/** Processes of this machine with `marker` among their arguments. */
export function findProcesses(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && argumentsOf(pid).includes(marker))
}

/** Processes in the control group of a run's sandbox, where there are such groups. */
export const processesOf = (run_id: string): string[] =>
  readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cgroup`, 'utf8').includes(run_id)
    } catch {
      return false
    }
  })

/** Empty where it is dead, and only waits for somebody to hear of it. */
export function argumentsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

/** The process of the warden that works for this one. */
export function findWarden(pid: number): number {
  const warden = findProcesses('warden-process.').find((candidate) => parentOf(candidate) === pid)
  assert(warden, 'The process has no warden.')
  return warden
}

/** The processes that this one started, such as its warden and its gateway. */
export const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => parentOf(candidate) === pid)

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}

/** Where a file of the workspace that attempt 1 made lies on the host. */
export const inWorkspace = (data_dir: string, run_id: string, name: string): string =>
  join(data_dir, 'sandboxes/bubblewrap', `${run_id}-1`, 'workspace', name)

/** Its size; 0 when it is not there. */
export const sizeInWorkspace = (data_dir: string, run_id: string, name: string): number =>
  statSync(inWorkspace(data_dir, run_id, name), { throwIfNoEntry: false })?.size ?? 0

/** When it was last written, in milliseconds since 1970. */
export const modifiedInWorkspace = (data_dir: string, run_id: string, name: string): number =>
  statSync(inWorkspace(data_dir, run_id, name)).mtimeMs

/** A log is whole when its sequences are 1, 2, 3 … without gaps or repeats. */
export function assertWhole(events: readonly RunEvent[]): void {
  assert.deepEqual(
    events.map((event) => event.sequence),
    events.map((_, index) => index + 1),
  )
}

export const ofType = <T extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: T,
): Array<Extract<RunEvent, { type: T }>> =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type)

/** What the run's commands printed, in order. */
export const printed = (events: readonly RunEvent[]): string =>
  ofType(events, 'tool.output')
    .map((event) => event.data.text)
    .join('')

/** Workers of the attempts, in order. */
export const workersOf = (events: readonly RunEvent[]): string[] =>
  ofType(events, 'attempt.started').map((event) => event.data.worker_id)
