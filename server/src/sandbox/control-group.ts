import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { socketBytes } from './kernel-limits.ts'
import { readMemoryKills } from './memory-kills.ts'
import { SandboxFault, type SandboxLimits } from './sandbox.ts'
import { until } from './until.ts'

const MOUNT = '/sys/fs/cgroup'
/** What takes longer has failed for now; the caller tries again. */
const LIMIT_MS = 1000
/** How long processes may take to go before they are killed again, the first time. */
const FIRST_KILL_MS = 100
const V1_CONTROLLERS = ['memory', 'pids', 'freezer', 'cpu'] as const
const CPU_PERIOD_US = 100_000
const PROBE = 'runyard-probe-'
/** A trial takes milliseconds; what is left of an older one is of a killed process. */
const PROBE_AGE_MS = 60_000

/**
 * The control group of one sandbox, as plain data: any process that may write there can freeze and kill by it.
 * A process started in it cannot leave, and neither can anything it forks.
 */
export type ControlGroup =
  | { version: 1; memory: string; pids: string; freezer: string; cpu: string }
  | { version: 2; unified: string; hard: boolean }

/** The part of a group by which what runs in it is frozen and killed. */
export type Freezer =
  | Pick<ControlGroup & { version: 1 }, 'version' | 'freezer'>
  | Pick<ControlGroup & { version: 2 }, 'version' | 'unified'>

/** Where control groups can be made here, found once at start. */
export type ControlGroupParent = ControlGroup

/** The best parent under which this process may make control groups; `null` when there is none. */
export function findControlGroupParent(): ControlGroupParent | null {
  return listControlGroupParents()[0] ?? null
}

/** Every hierarchy in which this process may make control groups, those that limit first. */
export function listControlGroupParents(): ControlGroupParent[] {
  const v1 = findV1()
  return [v1 ? [v1] : [], findV2(true), findV2(false)].flatMap((places) => places.find(probe) ?? [])
}

/** Whether memory and process limits hold, not only freezing and killing. */
export function limitsHold(group: ControlGroup | null): boolean {
  return group !== null && (group.version === 1 || group.hard)
}

/** What a group of this name is; nothing is made. */
export const planControlGroup = (parent: ControlGroupParent, name: string): ControlGroup =>
  mapPaths(parent, (path) => join(path, name))

/** The groups whose names begin so, those of which only a part is there included. */
export function listControlGroups(parent: ControlGroupParent, prefix: string): ControlGroup[] {
  const names = pathsOf(parent).flatMap((path) => unlessGone(() => readdirSync(path), []))
  return [...new Set(names)]
    .filter((name) => name.startsWith(prefix))
    .map((name) => planControlGroup(parent, name))
}

export const nameOfControlGroup = (group: Freezer): string =>
  basename(group.version === 2 ? group.unified : group.freezer)

/** Removes what processes left that were killed while they tried whether groups can be made. */
export function removeOldProbes(parent: ControlGroupParent): void {
  for (const path of listControlGroups(parent, PROBE).flatMap(pathsOf)) {
    const made_at = unlessGone(() => statSync(path).mtimeMs, Number.POSITIVE_INFINITY)
    if (Date.now() - made_at > PROBE_AGE_MS) removeDirectory(path)
  }
}

export function makeControlGroup(group: ControlGroup, limits: SandboxLimits): void {
  for (const path of pathsOf(group)) mkdirSync(path, { recursive: true })
  if (group.version === 1) {
    write(group.memory, 'memory.limit_in_bytes', limits.memory_bytes)
    // Absent without swap accounting; then there is no swap to limit or the kernel was told not to.
    writeIfPresent(group.memory, 'memory.memsw.limit_in_bytes', limits.memory_bytes)
    // Buffers of sockets are not part of the memory in version 1. Kernel memory proper is.
    writeIfPresent(group.memory, 'memory.kmem.tcp.limit_in_bytes', socketBytes(limits.memory_bytes))
    write(group.pids, 'pids.max', limits.pids)
    writeIfPresent(group.cpu, 'cpu.cfs_quota_us', Math.round(limits.cpus * CPU_PERIOD_US))
  } else if (group.hard) {
    write(group.unified, 'memory.max', limits.memory_bytes)
    writeIfPresent(group.unified, 'memory.swap.max', 0)
    write(group.unified, 'pids.max', limits.pids)
    writeIfPresent(group.unified, 'cpu.max', `${Math.round(limits.cpus * CPU_PERIOD_US)} ${CPU_PERIOD_US}`)
  }
}

/**
 * Files into which a single-threaded process writes `0` to join. In version 1 that is `tasks`: `cgroup.procs` waits for
 * a lock of the whole machine, 25 ms instead of 0 for each command.
 */
export function joinFiles(group: ControlGroup): string[] {
  return pathsOf(group).map((path) => join(path, group.version === 1 ? 'tasks' : 'cgroup.procs'))
}

/** Resolves once nothing in it runs; throws `SandboxFault` when something still does after a second. */
export async function freezeControlGroup(group: Freezer): Promise<void> {
  orderFreeze(group)
  if (await until(() => isFrozenControlGroup(group), LIMIT_MS)) return
  throw new SandboxFault(`the processes of ${nameOfControlGroup(group)} could not be frozen in time`)
}

/** Both versions freeze as the tasks get there. */
function orderFreeze(group: Freezer): void {
  if (group.version === 1) writeIfPresent(group.freezer, 'freezer.state', 'FROZEN')
  else writeIfPresent(group.unified, 'cgroup.freeze', 1)
}

/** Whether nothing in it runs; so too of a group that is gone. */
export function isFrozenControlGroup(group: Freezer): boolean {
  const frozen =
    group.version === 1
      ? () => readFileSync(join(group.freezer, 'freezer.state'), 'utf8').trim() === 'FROZEN'
      : () => readFileSync(join(group.unified, 'cgroup.events'), 'utf8').includes('frozen 1')
  return unlessGone(frozen, true)
}

export function thawControlGroup(group: Freezer): void {
  if (group.version === 1) writeIfPresent(group.freezer, 'freezer.state', 'THAWED')
  else writeIfPresent(group.unified, 'cgroup.freeze', 0)
}

/**
 * Kills every process in the group, frozen or not, and returns when none is left. It is killed again and again, for what a
 * signal has not reached; throws `SandboxFault` when something is left after a second.
 */
export async function killControlGroup(group: Freezer): Promise<void> {
  const deadline = performance.now() + LIMIT_MS
  for (let patience = FIRST_KILL_MS; ; patience *= 2) {
    await strike(group, patience)
    const rest = deadline - performance.now()
    if (await until(() => membersOf(group).length === 0, Math.min(patience, rest))) return
    if (rest < patience)
      throw new SandboxFault(
        `${membersOf(group).length} processes of ${nameOfControlGroup(group)} could not be killed in time`,
      )
  }
}

async function strike(group: Freezer, patience_ms: number): Promise<void> {
  if (group.version === 2 && existsSync(join(group.unified, 'cgroup.kill'))) {
    unlessGone(() => write(group.unified, 'cgroup.kill', 1), undefined)
  } else {
    // Frozen first: a fork bomb must not outrun the loop. The signals arrive when the group thaws.
    orderFreeze(group)
    await until(() => isFrozenControlGroup(group), patience_ms)
    for (const pid of membersOf(group)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended before the freeze.
      }
    }
  }
  thawControlGroup(group)
}

/** Removes an empty group. Idempotent. */
export function removeControlGroup(group: ControlGroup): void {
  for (const path of pathsOf(group)) removeDirectory(path)
}

const removeDirectory = (path: string): void => unlessGone(() => rmdirSync(path), undefined)

export function membersOf(group: Freezer): number[] {
  const file = join(group.version === 1 ? group.freezer : group.unified, 'cgroup.procs')
  const listed = unlessGone(() => readFileSync(file, 'utf8'), '')
  return listed.split('\n').filter(Boolean).map(Number)
}

/** Processes that were killed in it for memory; `null` where nobody counts, or it is gone. */
export function countMemoryKills(group: ControlGroup): number | null {
  const file =
    group.version === 1 ? join(group.memory, 'memory.oom_control') : join(group.unified, 'memory.events')
  return readMemoryKills(unlessGone(() => readFileSync(file, 'utf8'), ''))
}

function findV1(): ControlGroupParent | null {
  const own = ownGroups()
  const place = (controller: string) => {
    const line = own.find(([, controllers]) => controllers?.split(',').includes(controller))
    if (!line) return null
    // In a container the path may be the host's, while the mount shows only the container's part.
    const path = join(MOUNT, controller, line[2] ?? '')
    return existsSync(path) ? path : join(MOUNT, controller)
  }
  const [memory, pids, freezer, cpu] = V1_CONTROLLERS.map(place)
  return memory && pids && freezer && cpu ? { version: 1, memory, pids, freezer, cpu } : null
}

/** Ancestors of this process's own group, nearest first: siblings of a group with processes may hold controllers. */
function findV2(hard: boolean): ControlGroupParent[] {
  const mount = existsSync(join(MOUNT, 'cgroup.controllers')) ? MOUNT : join(MOUNT, 'unified')
  const own = ownGroups().find(([hierarchy]) => hierarchy === '0')?.[2]
  if (own === undefined || !existsSync(join(mount, 'cgroup.controllers'))) return []
  const parts = own.split('/').filter((part) => part && part !== '..')
  const ancestors = parts.map((_, index) => join(mount, ...parts.slice(0, parts.length - 1 - index)))
  const places = ancestors.length > 0 ? ancestors : [mount]
  return places.map((unified) => ({ version: 2 as const, unified, hard }))
}

/** Whether a group can be made below `parent`, with limits if it claims them, and removed again. */
function probe(parent: ControlGroupParent): boolean {
  const group = planControlGroup(parent, `${PROBE}${randomUUID()}`)
  try {
    if (parent.version === 2 && parent.hard) {
      const enabled = readFileSync(join(parent.unified, 'cgroup.subtree_control'), 'utf8')
      if (!enabled.includes('memory') || !enabled.includes('pids'))
        write(parent.unified, 'cgroup.subtree_control', '+memory +pids')
    }
    makeControlGroup(group, { memory_bytes: 1 << 28, pids: 16, cpus: 1, disk_bytes: 0 })
    removeControlGroup(group)
    return true
  } catch {
    for (const path of pathsOf(group)) {
      try {
        rmdirSync(path)
      } catch {
        // Not made.
      }
    }
    return false
  }
}

function ownGroups(): string[][] {
  if (!existsSync('/proc/self/cgroup')) return []
  return readFileSync('/proc/self/cgroup', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':'))
}

function mapPaths(group: ControlGroup, change: (path: string) => string): ControlGroup {
  if (group.version === 2) return { ...group, unified: change(group.unified) }
  const { memory, pids, freezer, cpu } = group
  return {
    version: 1,
    memory: change(memory),
    pids: change(pids),
    freezer: change(freezer),
    cpu: change(cpu),
  }
}

function pathsOf(group: ControlGroup): string[] {
  // Controllers may share one mount (`cpu,cpuacct` and its links do).
  if (group.version === 2) return [group.unified]
  return [...new Set([group.memory, group.pids, group.freezer, group.cpu])]
}

function write(path: string, file: string, value: string | number): void {
  writeFileSync(join(path, file), String(value))
}

function writeIfPresent(path: string, file: string, value: string | number): void {
  if (existsSync(join(path, file))) unlessGone(() => write(path, file, value), undefined)
}

/** Another process may remove a dead group at any time; then there is nothing left to do. */
function unlessGone<T>(work: () => T, gone: T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENODEV'))
      return gone
    throw error
  }
}
