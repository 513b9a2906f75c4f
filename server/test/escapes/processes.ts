import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** A process name that nobody else has; a kernel keeps 15 characters of it. */
export const uniqueName = (): string => `esc${randomBytes(6).toString('hex')}`

/** Ids on the host of living processes of this name, whatever became of their command lines and environments. */
export function livingProcesses(name: string): number[] {
  return processIds().filter((pid) => {
    const stat = readProcess(pid, 'stat')
    const [state] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return stat.includes(`(${name})`) && state !== 'Z' && state !== 'X'
  })
}

export const processIds = (): number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)

/** A file of the process; empty when it is gone or not ours to see. */
export function readProcess(pid: number, file: 'stat' | 'cmdline' | 'environ' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/** Kills what a probe left behind where it broke out. */
export function killLiving(name: string): void {
  for (let round = 0; round < 100; round++) {
    const living = livingProcesses(name)
    if (living.length === 0) return
    for (const pid of living) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Ended.
      }
    }
  }
}

/** The process and all below it, as they are now. */
export function treeOf(root: number): number[] {
  const parents = new Map(
    processIds().map((pid) => {
      const stat = readProcess(pid, 'stat')
      return [pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]
    }),
  )
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at; at = parents.get(at)) if (at === root) return true
    return false
  }
  return [...parents.keys()].filter(isBelow)
}
