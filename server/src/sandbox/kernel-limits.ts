import { readFileSync } from 'node:fs'

/** Of all open files that the machine may have, one sandbox's processes get this part together. */
const PART_OF_FILES = 8
const MOST_FILES = 4096
/** Below it ordinary programs fail. */
const FEWEST_FILES = 1024

/** Socket buffers, which control groups of version 1 count beside the memory: so much of its limit on top. */
const SOCKET_PART = 4

/** Of `inotify`, in all of a sandbox's processes: so that one cannot use up what the kernel gives one user. */
export const NAMESPACE_MAXIMA = { max_inotify_instances: 32, max_inotify_watches: 32_768 } as const

/**
 * Limits of what the kernel counts by process or by user, by the names that `prlimit` and container engines have for them.
 * Pending signals and timers, message queues and locked memory are counted by user, so these hold for all of a sandbox's
 * processes where it has a user or a user namespace of its own.
 */
export function resourceLimits({ pids }: { pids: number }, file_max = readFileMax()): Record<string, number> {
  const share = Math.floor(file_max / PART_OF_FILES / pids)
  return {
    nofile: Math.max(FEWEST_FILES, Math.min(MOST_FILES, share)),
    sigpending: 1024,
    msgqueue: 819_200,
    memlock: 8 * 1024 ** 2,
  }
}

/** What is set where socket buffers have a limit of their own. */
export const socketBytes = (memory_bytes: number): number => Math.ceil(memory_bytes / SOCKET_PART)

/**
 * Files of `/proc` that tell of the whole machine (locks of others' files, keys, swap files, memory, the scheduler's and timers'
 * lists) and have no use in a build; and folders of the same kind. In `/proc/pressure` every process may order work of the kernel
 * for the whole machine, as often as it has open files.
 */
export const HIDDEN_FILES = [
  ...[
    '/proc/kcore',
    '/proc/keys',
    '/proc/key-users',
    '/proc/latency_stats',
    '/proc/locks',
    '/proc/sched_debug',
  ],
  ...['/proc/swaps', '/proc/timer_list', '/proc/timer_stats', '/proc/interrupts', '/proc/mdstat'],
]
export const HIDDEN_FOLDERS = ['/proc/acpi', '/proc/asound', '/proc/fs', '/proc/pressure', '/proc/scsi']

function readFileMax(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/file-max', 'utf8'))
  } catch {
    return 0
  }
}
