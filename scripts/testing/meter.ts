/** What a test file costs: the CPU of its process and of all that descend from it, and its time. */
import { appendFileSync, readdirSync, readFileSync } from 'node:fs'

export interface Cost {
  file: string
  /** CPU with all children, as far as the kernel still knows their parents. */
  cpu_ms: number
  wall_ms: number
}

/** The kernel's `USER_HZ`, which is 100 on every architecture that Node runs on. */
const TICK_MS = 10

/** Returns what notes the cost since then, as a line of JSON in the file that `RUNYARD_TEST_COSTS` names. */
export function startMeter(file: string): () => void {
  const log = process.env.RUNYARD_TEST_COSTS
  if (log === undefined) return () => {}
  const began = performance.now()
  const cpu_before = readCpuMs(process.pid)
  return () => {
    const cost: Cost = {
      file,
      cpu_ms: Math.round(readCpuMs(process.pid) - cpu_before),
      wall_ms: Math.round(performance.now() - began),
    }
    try {
      // One write per line, so that processes which end at the same moment do not mix theirs.
      appendFileSync(log, `${JSON.stringify(cost)}\n`)
    } catch {
      // A test that has become another user may not.
    }
  }
}

/** Of the process, its ended children and those that still run; 0 for one that is gone. */
function readCpuMs(pid: number): number {
  try {
    // The command's name stands in parentheses and may hold blanks; the 12th to 15th word after it are CPU times.
    const words = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    const own = words.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS
    return own + childrenOf(pid).reduce((sum, child) => sum + readCpuMs(child), 0)
  } catch {
    return 0
  }
}

/** Each thread has a list of its own. */
const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
