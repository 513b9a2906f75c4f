import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { WaitingRun } from '../contract/run.ts'
import type { Db } from '../store/db.ts'
import { findIdentity } from '../store/identities.ts'
import { listPools } from '../store/pools.ts'
import { isServed, type QueueFacts, readQueueFacts } from '../store/waiting.ts'

/** Pools that are named to somebody who has named one that nobody serves. */
const SHOWN_POOLS = 10

interface Asker {
  actor: Pick<Actor, 'principal_id' | 'role'>
  default_pool: string
}

/** Why each of the runs that are queued has not started, by its id. */
export async function explainWaiting(
  db: Db,
  run_ids: readonly string[],
  { actor, default_pool }: Asker,
): Promise<Map<string, WaitingRun>> {
  if (run_ids.length === 0) return new Map()
  const facts = await readQueueFacts(db, run_ids)
  const is_unserved = facts.some(({ workers }) => workers === 0)
  const served = is_unserved ? await listServed(db, { actor, default_pool }) : ''
  return new Map(facts.map((fact) => [fact.run_id, describe(fact, served)]))
}

/** What is wrong with a pool that a request names; `null`: a worker serves it. */
export async function warnOfPool(db: Db, pool: string, asker: Asker): Promise<string | null> {
  return (await isServed(db, pool)) ? null : describeUnserved(pool, await listServed(db, asker))
}

/** The same of the runs that a schedule or trigger will create, or that an identity will execute. */
export async function warnOfRuns(
  db: Db,
  { worker_host, agent_uid }: Pick<AmbientAgentConfig, 'worker_host'> & { agent_uid?: string | undefined },
  asker: Asker,
): Promise<{ warnings?: string[] }> {
  const identity = worker_host || agent_uid === undefined ? null : await findIdentity(db, agent_uid)
  const pool = worker_host || identity?.config.worker_host || asker.default_pool
  const warning = await warnOfPool(db, pool, asker)
  return warning === null ? {} : { warnings: [warning] }
}

async function listServed(db: Db, { actor, default_pool }: Asker): Promise<string> {
  const { pools } = await listPools(db, { limit: 100 }, actor, default_pool)
  const names = pools.filter(({ workers }) => workers > 0).map(({ name }) => `"${name}"`)
  if (names.length === 0) return 'No pool has a worker now.'
  const more = names.length > SHOWN_POOLS ? ` and ${names.length - SHOWN_POOLS} more` : ''
  return `Pools with workers: ${names.slice(0, SHOWN_POOLS).join(', ')}${more}.`
}

const describeUnserved = (pool: string, served: string): string =>
  `No worker serves the pool "${pool}": a run there waits until one does. ${served}`

function describe(facts: QueueFacts, served: string): WaitingRun {
  const { pool, ahead } = facts
  const { reason, says } = judge(facts, served)
  const count = ahead >= 100 ? '100 or more' : String(ahead)
  const queue = ahead === 0 ? '' : ` ${count} older ${ahead === 1 ? 'run waits' : 'runs wait'} in the pool.`
  return { reason, message: `${says}${queue}`, pool, ahead }
}

/** In the order in which a worker's claim would pass the run over. */
function judge(facts: QueueFacts, served: string): { reason: WaitingRun['reason']; says: string } {
  const { pool, agent, workers, ready, slots, free, fit_slots, fit_free, running, max_running, disabled } =
    facts
  if (workers === 0) return { reason: 'no_worker', says: describeUnserved(pool, served) }
  if (disabled)
    return {
      reason: 'principal_disabled',
      says: 'The principal that executes it is disabled. An admin can enable it again.',
    }
  if (ready === 0)
    return {
      reason: 'workers_not_ready',
      says: `The workers of the pool "${pool}" take no runs now: they are stopping, or short of disk space.`,
    }
  if (running >= max_running)
    return {
      reason: 'principal_limit',
      says: `The principal that executes it has ${running} runs at work, and may have ${max_running} at once.`,
    }
  if (fit_slots > 0 && fit_slots < slots && fit_free === 0)
    return {
      reason: 'agent_busy',
      says: `All ${fit_slots} slots of the workers that have the agent "${agent}" are busy.`,
    }
  if (free === 0) return { reason: 'pool_busy', says: `All ${slots} slots of the pool "${pool}" are busy.` }
  return {
    reason: 'starting',
    says: `The pool "${pool}" has a free slot: a worker takes the run in a moment.`,
  }
}
