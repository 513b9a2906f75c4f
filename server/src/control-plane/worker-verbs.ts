/** The questions of a worker over HTTPS that are about no run. */
import { z } from 'zod'
import { AppError } from '../contract/error.ts'
import type { Store } from '../store/db.ts'
import { beat } from '../store/leases.ts'
import { findClaimedRefresh, findRunsOfPool } from '../store/remote-workers.ts'
import { readSandboxOwners, type SandboxOwner } from '../store/sandboxes.ts'
import type { ControlPlane, HeldRefresh } from '../worker/control-plane.ts'
import { KnownModels } from './known-models.ts'
import { placeIn, placeOutOf } from './pool-places.ts'
import * as shape from './verb-shapes.ts'
import { waitForWork } from './wait-for-work.ts'

export interface WorkerCall {
  store: Store
  plane: ControlPlane
  worker: { worker_id: string; pool: string; place: string; lost: boolean }
  /** Aborted when the caller has left, or the service stops. */
  signal: AbortSignal
}

export interface WorkerVerb {
  body: z.ZodType
  serve(call: WorkerCall, body: never): Promise<unknown>
}

const verb = <B>(body: z.ZodType<B>, serve: (call: WorkerCall, body: B) => Promise<unknown>) => ({
  body,
  serve,
})

/** Refused once the worker was declared lost. */
const live = <B>(body: z.ZodType<B>, serve: (call: WorkerCall, body: B) => Promise<unknown>) =>
  verb(body, (call, given) => {
    if (!call.worker.lost) return serve(call, given)
    throw new AppError('not_authorized', 'The worker was declared lost. It begins again under another id.')
  })

const nothing = z.object({})
const { Id, Name, Names, Small } = shape
const Refresh = z.object({ environment_id: Name, principal_id: Id, claimed_at: Name })

/** The refresh as it is stored: who asked for it decides which secrets may be used. */
const refresh = <B>(body: z.ZodType<B>, serve: (held: HeldRefresh, body: B) => Promise<unknown>) =>
  live(z.intersection(z.object({ refresh: Refresh }), body), async ({ store, plane, worker }, given) => {
    const claimed = await findClaimedRefresh(store.db, worker.pool, given.refresh)
    return claimed && serve(plane.holdRefresh(worker, { ...given.refresh, ...claimed }), given)
  })

export const WORKER_VERBS: Record<string, WorkerVerb> = {
  beat: verb(nothing, ({ store, worker }) => beat(store.quick, worker.worker_id)),
  wait: live(
    // As many as a worker has slots at the most.
    z.object({ runs: z.boolean(), orders: z.array(Id).max(1_000) }),
    async ({ store, plane, worker, signal }, { runs, orders }) => {
      const own = [...(await findRunsOfPool(store.db, worker.pool, orders))]
      return waitForWork(plane.hints, worker, { runs, orders: own }, signal)
    },
  ),
  models: live(z.object({ models: KnownModels }), ({ plane, worker }, { models }) =>
    plane.updateModels(worker.worker_id, models),
  ),
  agents: live(z.object({ lacking: Names }), ({ plane, worker }, { lacking }) =>
    plane.updateAgents(worker.worker_id, lacking),
  ),
  disk: live(z.object({ full: z.boolean() }), ({ plane, worker }, { full }) =>
    plane.markDisk(worker.worker_id, full),
  ),
  drain: verb(nothing, ({ plane, worker }) => plane.drain(worker.worker_id)),
  retire: verb(nothing, ({ plane, worker }) => plane.retire(worker.worker_id)),
  claim: live(z.object({ n: Small.min(1).max(1_000) }), ({ plane, worker }, { n }) => plane.claim(worker, n)),
  commands: verb(nothing, ({ plane, worker }) => plane.readCommands(worker.worker_id)),
  'expired-sandboxes': live(
    z.object({ place: z.string().max(4_096), keep: Small }),
    async ({ plane, worker }, { place, keep }) =>
      // Only at the place that it was enrolled with: workers at another place remove what is there.
      placeIn(worker.pool, place) === worker.place
        ? plane.takeExpiredSandboxes(worker.worker_id, worker.place, keep)
        : [],
  ),
  'sandbox-owners': live(z.object({ names: Names }), async ({ store, worker: { pool } }, { names }) => {
    const owners = await readSandboxOwners(store.db, names, pool)
    const seen = ([name, { place, ...owner }]: [string, SandboxOwner]) =>
      [name, { ...owner, place: place === null ? null : placeOutOf(pool, place) }] as const
    return new Map([...owners].map(seen))
  }),
  'living-workers': live(z.object({ worker_ids: Names }), ({ plane, worker }, { worker_ids }) =>
    plane.findLivingWorkers(
      worker.worker_id,
      worker_ids.filter((id) => Id.safeParse(id).success),
    ),
  ),
  'refreshes/claim': live(nothing, ({ plane, worker }) => plane.claimRefresh(worker)),
  'refreshes/environment': refresh(nothing, async (held) => {
    const environment = await held.findEnvironment()
    return environment && { ...environment, sealed: null }
  }),
  'refreshes/secrets': refresh(nothing, async (held) => {
    const environment = await held.findEnvironment()
    return environment ? held.useSecrets(environment) : []
  }),
  'refreshes/record': refresh(
    z.object({ last_updated: z.coerce.date(), found: shape.FoundSkills }),
    async (held, { last_updated, found }) => {
      const environment = await held.findEnvironment()
      if (environment) await held.recordSkills({ ...environment, last_updated }, found)
    },
  ),
  'refreshes/end': refresh(z.object({ problem: shape.Sentence.nullable() }), (held, { problem }) =>
    held.end(problem),
  ),
  'refreshes/release': refresh(nothing, (held) => held.release()),
}
