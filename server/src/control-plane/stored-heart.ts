import { QUICK } from '../store/connection-limits.ts'
import { openPostgres } from '../store/db.ts'
import { beat } from '../store/leases.ts'
import type { Heart, HeartPlan } from '../worker/control-plane.ts'

/** The beat of a worker that has the database, over a connection of its own. */
export const planStoredHeart = (database_url: string): HeartPlan => ({
  // As the bundled command finds it: a file of its own.
  module: new URL(import.meta.url).href,
  options: database_url,
})

export function openHeart(options: unknown): Heart {
  const store = openPostgres({
    url: String(options),
    max: 1,
    application_name: 'runyard-beat',
    limits: QUICK,
  })
  return { beat: (worker_id) => beat(store.db, worker_id), close: () => store.close() }
}
