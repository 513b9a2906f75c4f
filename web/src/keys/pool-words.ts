import type { Pool } from '@runyard/client'

/** How many of a pool's workers take runs. */
export function sayWorkers({ workers, workers_ready }: Pick<Pool, 'workers' | 'workers_ready'>): string {
  if (workers === 0) return 'no workers'
  const noun = workers === 1 ? 'worker' : 'workers'
  return workers === workers_ready
    ? `${workers} ${noun} ready`
    : `${workers_ready} of ${workers} ${noun} ready`
}

/** What its workers hold, and what waits for them; empty, neither. */
export function sayLoad({ slots, slots_busy, queued_runs }: Pool): string {
  // Workers that stop hold runs besides the slots of those that are ready.
  const busy = slots_busy > slots ? `${slots_busy} slots busy` : `${slots_busy} of ${slots} slots busy`
  return [slots > 0 || slots_busy > 0 ? busy : '', sayQueue(queued_runs)].filter(Boolean).join(' · ')
}

const sayQueue = (queued: number): string =>
  queued === 0 ? '' : queued === 1 ? '1 run waits' : `${queued} runs wait`

/** What becomes of a run that is given to the pool. `pool`: left out when the service lists none of its name. */
export function sayProspect(name: string, pool: Pool | undefined): string {
  if (!pool) return `${name} has no workers that you can see: runs wait for one.`
  if (pool.workers === 0) return `${name} has no workers: runs wait for one.`
  const queue = sayQueue(pool.queued_runs)
  return `${name}: ${sayWorkers(pool)}${queue ? `, ${queue}` : ''}.`
}
