import type { ExecExit, Sandbox } from '../sandbox/sandbox.ts'

const MiB = 1024 ** 2
/** Of a shell whose last command was killed, or that passes on what one of its own was. */
const KILLED = 137

/**
 * What became of a command whose processes the kernel killed because the sandbox's were over their limit of memory; `null` where
 * it killed none. A shell or a build that goes on says of it no more than "Killed".
 */
export async function tellMemoryKills(
  sandbox: Sandbox,
  { code, signal }: Pick<ExecExit, 'code' | 'signal'>,
): Promise<string | null> {
  const kills = (await sandbox.takeMemoryKills?.()) ?? 0
  if (kills === 0) return null
  const bytes = sandbox.limits?.memory_bytes
  const limit = bytes === undefined ? '' : ` of ${Math.floor(bytes / MiB)} MiB`
  const told = `killed: over the memory limit${limit}`
  if (code === KILLED || signal === 'SIGKILL') return told
  return `${told}: ${kills === 1 ? 'a process' : `${kills} processes`} of the sandbox`
}

/** The limits of the sandbox as the agent is told them. */
export function describeLimits({
  memory_bytes,
  cpus,
  pids,
  disk_bytes,
}: NonNullable<Sandbox['limits']>): string {
  const told = [
    memory_bytes === undefined
      ? ''
      : `${Math.floor(memory_bytes / MiB)} MiB of memory ($RUNYARD_MEMORY_LIMIT_MB)`,
    cpus === undefined ? '' : `${cpus} CPU${cpus === 1 ? '' : 's'} ($RUNYARD_CPU_LIMIT)`,
    pids === undefined ? '' : `${pids} processes and threads ($RUNYARD_PROCESS_LIMIT)`,
    disk_bytes === undefined ? '' : `${Math.floor(disk_bytes / MiB)} MiB of disk ($RUNYARD_DISK_LIMIT_MB)`,
  ].filter(Boolean)
  return `All of your commands together have ${told.join(', ')}, whatever tools say of the machine. What takes more memory is killed: build and test with as few jobs at once as that allows.`
}
