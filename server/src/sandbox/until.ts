import { setTimeout as wait } from 'node:timers/promises'

const FIRST_PAUSE_MS = 1
const LAST_PAUSE_MS = 50

/** Whether it is so within the time. The pauses between two looks grow: nearly everything is so at once. */
export async function until(reached: () => boolean, limit_ms: number): Promise<boolean> {
  const deadline = performance.now() + limit_ms
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LAST_PAUSE_MS)) {
    if (reached()) return true
    if (performance.now() >= deadline) return false
    await wait(pause)
  }
}
