import { collectExec, type ExecHandle, type ExecOptions, type SandboxLimits } from './sandbox.ts'

/** What is killed meanwhile is told another time. */
const COUNT_LIMIT_MS = 5_000

/** What the kernel says of a control group, in either version: `memory.events`, `memory.oom_control`. `null`: nothing. */
export function readMemoryKills(told: string): number | null {
  const count = /^oom_kill (\d+)$/m.exec(told)?.[1]
  return count === undefined ? null : Number(count)
}

/** Of all that run in a container, by its own view of its control group; an image may have made that up. */
export async function countMemoryKillsInside(
  exec: (options: ExecOptions) => ExecHandle,
): Promise<number | null> {
  const command =
    'cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control 2>/dev/null; exit 0'
  const { stdout } = await collectExec(exec({ command, cwd: '/', timeout_ms: COUNT_LIMIT_MS }))
  return readMemoryKills(stdout.toString())
}

/** Processes that the kernel killed for memory, each told once. */
export class MemoryKills {
  readonly #read: () => Promise<number | null>
  #told: number

  /** `told`: of those that there were before. */
  constructor(read: () => Promise<number | null>, told = 0) {
    this.#read = read
    this.#told = told
  }

  /** How many there were since this was asked last; 0 also where it cannot be told. */
  async take(): Promise<number> {
    const count = await this.#read().catch(() => null)
    if (count === null) return 0
    // A container that was started anew counts from the beginning.
    const fresh = count < this.#told ? count : count - this.#told
    this.#told = count
    return fresh
  }
}

const MiB = 1024 ** 2

/** The limits that hold, for what runs inside and can go by them. */
export function limitVariables(limits: Partial<SandboxLimits>): Record<string, string> {
  const { memory_bytes, cpus, pids, disk_bytes } = limits
  return {
    ...(memory_bytes !== undefined && { RUNYARD_MEMORY_LIMIT_MB: `${Math.floor(memory_bytes / MiB)}` }),
    ...(cpus !== undefined && { RUNYARD_CPU_LIMIT: `${cpus}` }),
    ...(pids !== undefined && { RUNYARD_PROCESS_LIMIT: `${pids}` }),
    ...(disk_bytes !== undefined && { RUNYARD_DISK_LIMIT_MB: `${Math.floor(disk_bytes / MiB)}` }),
  }
}
