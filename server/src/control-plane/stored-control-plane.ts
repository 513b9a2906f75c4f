import type { Blobs } from '../blobs/blobs.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import { untilAway } from '../store/database-state.ts'
import type { Store } from '../store/db.ts'
import { type EnvironmentRow, findEnvironment } from '../store/environments.ts'
import { claimRuns, holdsRuns, type Lease, readCommands, runsWait } from '../store/leases.ts'
import { readSandboxOwners, takeExpiredSandboxes } from '../store/sandboxes.ts'
import {
  claimRefresh,
  endRefresh,
  refreshesWait,
  releaseRefresh,
  type SkillRefresh,
} from '../store/skill-refreshes.ts'
import { recordSkills } from '../store/skills.ts'
import type { Watch } from '../store/watch.ts'
import {
  drainWorker,
  findLivingWorkers,
  markDisk,
  registerWorker,
  retireWorker,
  sessionName,
  updateAgents,
  updateModels,
  type WorkerRegistration,
} from '../store/workers.ts'
import type {
  ControlPlane,
  HeartPlan,
  HeldRefresh,
  Hints,
  SpawnRun,
  WorkerName,
} from '../worker/control-plane.ts'
import { StoredRun, type StoredServices, useSecrets } from './stored-run.ts'

export interface StoredControlPlaneOptions extends Pick<StoredServices, 'seal_key'> {
  store: Store
  watch: Watch
  blobs: Blobs
  heart?: HeartPlan | null
  spawnRun?: SpawnRun
}

/** The control plane of a worker that has the database. */
export class StoredControlPlane implements ControlPlane {
  readonly #store: Store
  readonly #services: StoredServices
  readonly hints: Hints
  readonly blobs: Blobs
  readonly heart: HeartPlan | null
  readonly spawnRun?: SpawnRun

  constructor({ store, watch, blobs, seal_key, heart = null, spawnRun }: StoredControlPlaneOptions) {
    this.#store = store
    this.#services = { db: store.db, watch, seal_key }
    this.hints = hintsOf(watch)
    this.blobs = blobs
    this.heart = heart
    if (spawnRun) this.spawnRun = spawnRun
  }

  async register(worker: WorkerRegistration): Promise<void> {
    // By this name the sessions of a lost worker are ended.
    this.#store.nameSessions(sessionName(worker.worker_id))
    await registerWorker(this.#store.db, worker)
  }

  updateModels(worker_id: string, models: WorkerRegistration['models']) {
    return updateModels(this.#store.db, worker_id, models)
  }

  updateAgents(worker_id: string, lacking: readonly string[]) {
    return updateAgents(this.#store.db, worker_id, lacking)
  }

  markDisk(worker_id: string, full: boolean) {
    return markDisk(this.#store.db, worker_id, full)
  }

  drain(worker_id: string) {
    return drainWorker(this.#store.db, worker_id)
  }

  retire(worker_id: string) {
    return retireWorker(this.#store.db, worker_id)
  }

  claim(worker: WorkerName, n: number) {
    return claimRuns(this.#store.db, worker, n)
  }

  readCommands(worker_id: string) {
    return readCommands(this.#store.db, worker_id)
  }

  hold(lease: Lease): StoredRun {
    return new StoredRun(this.#services, lease)
  }

  untilAway(signal: AbortSignal) {
    return untilAway(this.#store, signal)
  }

  takeExpiredSandboxes(_worker_id: string, place: string, keep: number) {
    return takeExpiredSandboxes(this.#store.db, place, keep)
  }

  readSandboxOwners(_worker_id: string, names: readonly string[]) {
    return readSandboxOwners(this.#store.db, names)
  }

  findLivingWorkers(_worker_id: string, worker_ids: readonly string[]) {
    return findLivingWorkers(this.#store.db, worker_ids)
  }

  claimRefresh({ pool }: WorkerName) {
    return claimRefresh(this.#store.db, pool)
  }

  holdRefresh(_worker: WorkerName, refresh: SkillRefresh): HeldRefresh {
    return new StoredRefresh(this.#services, refresh)
  }
}

class StoredRefresh implements HeldRefresh {
  readonly #services: StoredServices
  readonly #refresh: SkillRefresh

  constructor(services: StoredServices, refresh: SkillRefresh) {
    this.#services = services
    this.#refresh = refresh
  }

  findEnvironment() {
    return findEnvironment(this.#services.db, this.#refresh.environment_id)
  }

  useSecrets({ uid, scope, config: { secrets: names = [] } }: EnvironmentRow) {
    const { principal_id } = this.#refresh
    return useSecrets(this.#services, names, { target: uid, principal_id, personal: scope === 'User' })
  }

  recordSkills(environment: EnvironmentRow, found: EnvironmentSkills) {
    return recordSkills(this.#services.db, environment, found)
  }

  end(problem: string | null) {
    return endRefresh(this.#services.db, this.#refresh, problem)
  }

  release() {
    return releaseRefresh(this.#services.db, this.#refresh)
  }
}

function hintsOf(watch: Watch): Hints {
  const both = (first: () => void, second: () => void) => () => {
    first()
    second()
  }
  return {
    onRuns: ({ pool }, listener) =>
      both(watch.onPool(pool, listener), watch.onWaiting(runsWait(pool), listener)),
    onRefreshes: ({ pool }, listener) =>
      both(watch.onPool(pool, listener), watch.onWaiting(refreshesWait(pool), listener)),
    onOrder: (run_id, listener) => watch.onOrder(run_id, listener),
    onHeld: (worker_id, listener) => watch.onWaiting(holdsRuns(worker_id), listener),
    onRun: (run_id, listener) => watch.onRun(run_id, listener),
  }
}
