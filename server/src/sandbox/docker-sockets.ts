import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import type Docker from 'dockerode'
import { readState } from './docker-engine.ts'
import { isEngineHere } from './docker-uplinks.ts'
import { socketBytes } from './kernel-limits.ts'

const MOUNT = '/sys/fs/cgroup/memory'
const FILE = 'memory.kmem.tcp.limit_in_bytes'

/** Whether buffers of sockets can be limited; with control groups of version 2 they are part of the memory. */
export const limitsSockets = (): boolean => !existsSync(MOUNT) || (process.getuid?.() === 0 && isEngineHere())

/**
 * Limits the buffers of a container's sockets, which control groups of version 1 do not count as memory: engines of today
 * take that limit and do not set it. Only root beside the engine can; elsewhere nothing happens.
 */
export async function limitSockets(container: Docker.Container, memory_bytes: number): Promise<void> {
  if (!existsSync(MOUNT) || !limitsSockets()) return
  const pid = (await readState(container))?.Pid
  const groups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')
  const own = /^\d+:memory:(\/.*)$/m.exec(groups)?.[1]
  // Not where the number is that of another machine's process.
  if (!own?.includes(container.id)) return
  await writeFile(`${MOUNT}${own}/${FILE}`, String(socketBytes(memory_bytes))).catch(() => {})
}
