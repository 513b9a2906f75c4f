/** Which test files run in which process, and when. */

import type { Costs } from './costs.ts'
import { mayShareProcess, usesBrowser } from './files.ts'

/** What one process runs, or pytest. */
export interface Unit {
  /** From the root. */
  files: string[]
  /** In one process by `lane.ts`; otherwise there is one file. */
  is_shared: boolean
  cpu_ms: number
  wall_ms: number
}

/** Enough that loading the service, a second, is small beside it; little enough that all processes end at about the same time. */
const SHARED = { cpu_ms: 45_000, wall_ms: 240_000 }
/** A browser takes seconds to start and to compile the page, so its files share one as far as possible. */
const SHARED_BROWSER = { cpu_ms: 150_000, wall_ms: 360_000 }
/** More processes than cores, since much of what they do is wait; each one more makes all of them slower. */
const MORE_THAN_CORES = 2
const UNKNOWN = { cpu_ms: 2_000, wall_ms: 3_000 }

/** Longest first. Files of one folder share a process, since they load the same modules; files with a browser share that. */
export function planUnits(files: readonly string[], costs: Costs): Unit[] {
  const units: Unit[] = []
  const lanes = new Map<typeof SHARED, Unit>()
  for (const file of files) {
    const { cpu_ms, wall_ms } = costs.get(file) ?? UNKNOWN
    if (!mayShareProcess(file)) {
      units.push({ files: [file], is_shared: false, cpu_ms, wall_ms })
      continue
    }
    const limit = usesBrowser(file) ? SHARED_BROWSER : SHARED
    let lane = lanes.get(limit)
    if (!lane || lane.cpu_ms + cpu_ms > limit.cpu_ms || lane.wall_ms + wall_ms > limit.wall_ms) {
      lane = { files: [], is_shared: true, cpu_ms: 0, wall_ms: 0 }
      lanes.set(limit, lane)
      units.push(lane)
    }
    lane.files.push(file)
    lane.cpu_ms += cpu_ms
    lane.wall_ms += wall_ms
  }
  return units.sort((a, b) => b.wall_ms - a.wall_ms)
}

/** The units of one of `count` machines, which share the work: each next unit goes to the one with the least. */
export function chooseShard(
  units: readonly Unit[],
  { index, count }: { index: number; count: number },
): Unit[] {
  const shards = Array.from({ length: count }, () => ({ units: [] as Unit[], wall_ms: 0 }))
  for (const unit of units) {
    const least = shards.reduce((best, shard) => (shard.wall_ms < best.wall_ms ? shard : best))
    least.units.push(unit)
    least.wall_ms += unit.wall_ms
  }
  return shards[index - 1]?.units ?? []
}

/** How many cores it keeps busy while it runs. */
const loadOf = ({ cpu_ms, wall_ms }: Unit): number =>
  Math.min(Math.max(cpu_ms / Math.max(wall_ms, 1), 0.2), 2)

/**
 * Runs all, longest first. A unit that computes starts when a core is free for it; one that mostly waits for processes, timers
 * or browsers may start beside it.
 */
export async function runUnits(
  units: readonly Unit[],
  cores: number,
  run: (unit: Unit) => Promise<void>,
): Promise<void> {
  const waiting = [...units]
  const running = new Map<Unit, Promise<void>>()
  while (waiting.length > 0 || running.size > 0) {
    const load = [...running.keys()].reduce((sum, unit) => sum + loadOf(unit), 0)
    const next =
      running.size === 0
        ? waiting[0]
        : running.size < cores + MORE_THAN_CORES
          ? waiting.find((unit) => load + loadOf(unit) <= cores * 1.3)
          : undefined
    if (next) {
      waiting.splice(waiting.indexOf(next), 1)
      running.set(
        next,
        run(next).finally(() => running.delete(next)),
      )
    } else await Promise.race(running.values())
  }
}
