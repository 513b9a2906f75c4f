import type { DiskSpace } from '../blobs/blobs.ts'
import type { Outcome } from '../harness/harness.ts'
import type { DiskUsage, Sandbox, SandboxLimits } from '../sandbox/sandbox.ts'
import type { DiskGuard, Logger } from './context.ts'

const MiB = 1024 ** 2
/** Between two reads of the free space, which cost nothing. */
const TICK_MS = 250
/** Between two looks at a sandbox while the disk fills, and while it does not. */
const LOOK_MS = 2_000
const REST_MS = 30_000
/** A look may cost a tenth of the time: where there are many files, looks are rarer. */
const LOOK_SHARE = 10
/** What cannot be counted in this time is too much. */
const LOOK_LIMIT_MS = 5 * 60_000
/** Less than this taken from the disk is no reason to look. */
const NOTICED_BYTES = 16 * MiB
/** With so much left no run is ended, however large the disk. */
const ROOM_BYTES = 5 * 1024 * MiB
const ROOM_FILES = 100_000
const RELIEF_MS = 10_000
/** Files a sandbox may hold: one for so many bytes of its disk limit, and never fewer than this. */
const BYTES_A_FILE = 8_192
const MIN_FILES = 65_536

export interface DiskGuardOptions {
  /** Of the data directory, and of where the sandboxes lie, if that is known. */
  readSpace: () => Promise<{ data: DiskSpace; sandboxes: DiskSpace | null }>
  /** Below this nothing is claimed; below half of it running sandboxes are ended, the largest first. */
  min_free_percent: number
  log: Logger
}

interface Watched {
  sandbox: Sandbox
  limits: SandboxLimits
  end: (outcome: Outcome) => void
  over: boolean
  closing: AbortController
  closed: Promise<void>
  used: DiskUsage
  /** Just before the last look, or where the watch began. */
  space: DiskSpace | null
  looked_at: number
  took_ms: number
  look: Promise<void> | null
}

/**
 * Keeps agents from filling the disk where the sandboxes have no quota. A sandbox can only have grown by what the file
 * system lost, so it is looked at when that could be too much, every two seconds while the disk fills, and seldom else.
 */
export function createDiskGuard({ readSpace, min_free_percent, log }: DiskGuardOptions): DiskGuard {
  const watched = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined
  let low = false
  let relieved_at = Number.NEGATIVE_INFINITY

  const read = async () => {
    try {
      const { data, sandboxes } = await readSpace()
      return { sandboxes, free_percent: Math.min(data.free_percent, sandboxes?.free_percent ?? 100) }
    } catch (error) {
      log.warn({ err: error }, 'The free space of the disk could not be read.')
      return null
    }
  }

  const look = (one: Watched, space: DiskSpace | null): Promise<void> => {
    one.look ??= measure(one, space).finally(() => {
      one.look = null
    })
    return one.look
  }
  const measure = async (one: Watched, space: DiskSpace | null): Promise<void> => {
    const began = performance.now()
    const limit = AbortSignal.timeout(LOOK_LIMIT_MS)
    try {
      one.used = await one.sandbox.usage(AbortSignal.any([one.closing.signal, limit]))
      const excess = findExcess(one.used, one.limits)
      if (excess) end(one, overLimit(excess))
    } catch (error) {
      if (one.over || one.closing.signal.aborted) return
      if (limit.aborted) end(one, overLimit('The run keeps more files than can be counted in five minutes.'))
      else log.warn({ err: error, ...one.sandbox.ref }, 'What a sandbox holds could not be measured.')
    } finally {
      one.space = space
      one.looked_at = performance.now()
      one.took_ms = one.looked_at - began
    }
  }
  const end = (one: Watched, outcome: Outcome): void => {
    if (one.over || one.closing.signal.aborted) return
    one.over = true
    log.warn({ ...one.sandbox.ref, ...one.used }, outcome.status_message?.message ?? '')
    one.end(outcome)
  }

  /**
   * Ends the largest sandbox when the disk is nearly full, else all of them and the service itself would fail; but only where
   * what these runs hold can bring the room back. Idle sandboxes went before, when claiming stopped.
   */
  const relieve = async (space: DiskSpace): Promise<void> => {
    for (const one of watched) await look(one, null)
    const living = [...watched].filter((one) => !one.over)
    const shares = living.map((one) => ({ one, percent: shareOf(one.used, space) }))
    const [largest] = shares.sort((a, b) => b.percent - a.percent)
    const all = shares.reduce((sum, { percent }) => sum + percent, 0)
    if (!largest || space.free_percent + all < min_free_percent / 2) {
      log.error({}, 'The disk is nearly full, and not by what the runs of this worker hold.')
      return
    }
    end(largest.one, NO_SPACE)
    await largest.one.closed
  }

  const tick = async (): Promise<void> => {
    const space = await read()
    const now = performance.now()
    const sandboxes = space?.sandboxes ?? null
    for (const one of watched) {
      one.space ??= sandboxes
      if (isDue(one, sandboxes, now)) look(one, sandboxes)
    }
    if (sandboxes && isNearlyFull(sandboxes, min_free_percent / 2) && now - relieved_at > RELIEF_MS) {
      relieved_at = Number.POSITIVE_INFINITY
      relieve(sandboxes)
        .catch((error) => log.warn({ err: error }, 'Making room on the disk failed.'))
        .finally(() => {
          relieved_at = performance.now()
        })
    }
  }
  const loop = (): void => {
    timer = setTimeout(async () => {
      await tick()
      timer = undefined
      if (watched.size > 0) loop()
    }, TICK_MS)
    timer.unref()
  }

  return {
    async hasRoom() {
      const space = await read()
      const now_low = space !== null && space.free_percent < min_free_percent
      if (now_low !== low) {
        low = now_low
        const free_percent = Number(space?.free_percent.toFixed(1))
        const message = low
          ? 'Too little of the disk is free: no run is claimed until there is more (RUNYARD_MIN_FREE_PERCENT).'
          : 'The disk has room again: runs are claimed.'
        log.warn({ free_percent, min_free_percent }, message)
      }
      return !low
    },
    watch(sandbox, limits, onOver) {
      const { promise: closed, resolve } = Promise.withResolvers<void>()
      const one: Watched = {
        sandbox,
        limits,
        end: onOver,
        over: false,
        closing: new AbortController(),
        closed,
        used: { bytes: 0, files: 0 },
        space: null,
        looked_at: performance.now(),
        took_ms: 0,
        look: null,
      }
      watched.add(one)
      if (!timer) loop()
      return {
        close() {
          watched.delete(one)
          one.closing.abort()
          resolve()
        },
      }
    },
  }
}

/** Of a large disk a small share is room enough. */
const isNearlyFull = (space: DiskSpace, percent: number): boolean =>
  space.free_percent < percent &&
  (space.free_bytes < ROOM_BYTES || (space.free_files !== null && space.free_files < ROOM_FILES))

/** What would be free again, in percent of the disk's bytes or files, whichever is scarcer. */
function shareOf({ bytes, files }: DiskUsage, space: DiskSpace): number {
  const of = (used: number, total: number | null) => (total ? (used / total) * 100 : 0)
  return space.scarce === 'files' ? of(files, space.total_files) : of(bytes, space.total_bytes)
}

function isDue(one: Watched, space: DiskSpace | null, now: number): boolean {
  if (one.over || one.look) return false
  const waited = now - one.looked_at
  if (waited < one.took_ms) return false
  if (space && one.space) {
    const bytes = one.space.free_bytes - space.free_bytes
    const files = (one.space.free_files ?? 0) - (space.free_files ?? 0)
    // What the disk lost would be over the limit if this sandbox had taken all of it.
    if (bytes > one.limits.disk_bytes - one.used.bytes || files > maxFiles(one.limits) - one.used.files)
      return true
    const still = bytes < Math.min(NOTICED_BYTES, one.limits.disk_bytes / 4) && files < MIN_FILES / 16
    if (still && waited < REST_MS) return false
  }
  return waited >= Math.max(LOOK_MS, one.took_ms * LOOK_SHARE)
}

const maxFiles = (limits: SandboxLimits): number => Math.max(MIN_FILES, limits.disk_bytes / BYTES_A_FILE)

function findExcess(used: DiskUsage, limits: SandboxLimits): string | null {
  if (used.bytes > limits.disk_bytes)
    return `The run took ${Math.ceil(used.bytes / MiB)} MiB of disk; its limit is ${Math.floor(limits.disk_bytes / MiB)} MiB (limits.disk_mb of its environment).`
  if (used.files > maxFiles(limits))
    return `The run keeps ${used.files} files; at its disk limit it may keep ${maxFiles(limits)} (limits.disk_mb of its environment).`
  return null
}

const REMOVED =
  'Its workspace was removed; a follow-up starts with what was last kept of it, or with a fresh one.'

const overLimit = (excess: string): Outcome => ({
  state: 'FAILED',
  status_message: { message: `${excess} ${REMOVED}`, error_code: 'budget_exceeded', retryable: false },
})

const NO_SPACE: Outcome = {
  state: 'ERROR',
  status_message: {
    message: `The disk of the worker is nearly full, and of its runs this one held most. ${REMOVED}`,
    error_code: 'resource_unavailable',
    retryable: true,
  },
}
