import type { Hints, WorkerName } from '../worker/control-plane.ts'
import { WAIT_MS } from './remote-hints.ts'

/** Resolves as soon as it is worth asking for something that is wanted, when the caller leaves, or after a while with nothing. */
export function waitForWork(
  hints: Hints,
  worker: WorkerName,
  wanted: { runs: boolean; orders: readonly string[] },
  signal: AbortSignal,
): Promise<{ runs: boolean; refreshes: boolean; orders: string[] }> {
  return new Promise((resolve) => {
    const heard = { runs: false, refreshes: false, orders: [] as string[] }
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      for (const stop of stops) stop()
      resolve(heard)
    }
    const timer = setTimeout(end, WAIT_MS)
    const note = (change: () => void) => () => {
      change()
      end()
    }
    const stops = [
      ...(wanted.runs
        ? [
            hints.onRuns(
              worker,
              note(() => (heard.runs = true)),
            ),
          ]
        : []),
      hints.onRefreshes(
        worker,
        note(() => (heard.refreshes = true)),
      ),
      ...wanted.orders.map((run_id) =>
        hints.onOrder(
          run_id,
          note(() => heard.orders.push(run_id)),
        ),
      ),
    ]
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
