import { AppError } from '../contract/error.ts'
import { type Done, giveUp, retryDelivery, waitsForRoom } from '../intake/delivery.ts'
import type { RunServices } from '../intake/new-run.ts'
import { findWaiting } from '../store/trigger-deliveries.ts'
import { isPassing } from './fire.ts'

/**
 * Tries again the deliveries of triggers that wait, some at each call, and returns those that started something. Any
 * number of processes may: each delivery is one's at a time.
 */
export async function retryDeliveries(
  services: RunServices,
  { signal, onFault }: { signal: AbortSignal; onFault: (error: unknown, delivery_id: string) => void },
): Promise<Done[]> {
  const started: Done[] = []
  /** Triggers of which an earlier one found no room: a later one must not overtake it. */
  const full = new Set<string>()
  for (const { delivery_id, trigger_id } of await findWaiting(services.db)) {
    if (signal.aborted) break
    if (full.has(trigger_id)) continue
    const done = await retryDelivery(services, delivery_id).catch((error: unknown) => {
      // Of the database: the next look tries again.
      if (isPassing(error)) throw error
      if (!(error instanceof AppError)) onFault(error, delivery_id)
      const reason =
        error instanceof AppError ? error.detail : 'The service failed to handle it; its log has the cause.'
      return giveUp(services.db, delivery_id, reason)
    })
    if (done?.run_id) started.push(done)
    if (done && waitsForRoom(done.delivery)) full.add(trigger_id)
  }
  return started
}
