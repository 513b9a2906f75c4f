/**
 * All that a worker knows of the control plane. Beside the database each verb is a function call (`control-plane/stored-*.ts`), over
 * HTTPS a request (`control-plane/remote-*.ts`); a worker can't tell which it has.
 */
import type { Blobs } from '../blobs/blobs.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { ChildRequest, Refused } from '../harness/tool-services.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { Command, Lease } from '../store/leases.ts'
import type { SandboxOwner, StoredSandboxRef } from '../store/sandboxes.ts'
import type { SkillRefresh } from '../store/skill-refreshes.ts'
import type { WorkerRegistration } from '../store/workers.ts'
import type { HeldRun, UsedSecret } from './held-run.ts'

/** The worker that asks: its id is new for each of its lives. */
export interface WorkerName {
  worker_id: string
  pool: string
}

/**
 * Each verb is one try. It throws what `store/faults.ts` tells apart: while the control plane is away `isUnavailable` is true
 * of what is thrown, over either transport.
 */
export interface ControlPlane {
  /** Hints that it is worth asking. Any may be lost: what is asked is asked now and then without one. */
  readonly hints: Hints
  /** Files of the runs that this worker holds, and of what setups left. Throws `BlobsUnavailable`. */
  readonly blobs: Blobs
  /** For the thread that beats, which shares nothing with this one: a module that exports `openHeart`, and what to give it. */
  readonly heart: HeartPlan | null
  /** Creates a run below one that is held, once for each key however often it is asked. Absent: agents create no runs. */
  readonly spawnRun?: SpawnRun

  /** Begins a life. Repeating it changes nothing. */
  register(worker: WorkerRegistration): Promise<void>
  updateModels(worker_id: string, models: WorkerRegistration['models']): Promise<void>
  updateAgents(worker_id: string, lacking: readonly string[]): Promise<void>
  /** Whether the worker's disk is too full for runs. */
  markDisk(worker_id: string, full: boolean): Promise<void>
  /** The worker claims nothing more: others need not leave it the runs whose workspace it keeps. */
  drain(worker_id: string): Promise<void>
  /** The worker holds nothing any more: nobody need wait for its silence. */
  retire(worker_id: string): Promise<void>

  /**
   * At most `n` runs of the pool, now CLAIMED by this worker; none once it is lost. A claim whose answer is not heard is found by
   * `readCommands`.
   */
  claim(worker: WorkerName, n: number): Promise<Lease[]>
  /** The orders of callers to the runs that the worker holds. */
  readCommands(worker_id: string): Promise<Command[]>
  /** The verbs of one lease. */
  hold(lease: Lease): HeldRun
  /** Resolves once the control plane has been away for a while. Never does after `signal`. */
  untilAway(signal: AbortSignal): Promise<void>

  /** Takes the rows of sandboxes at this place that nobody needs; the caller destroys what they name. */
  takeExpiredSandboxes(worker_id: string, place: string, keep: number): Promise<StoredSandboxRef[]>
  /** The owners of the sandboxes that this machine lists, by the `run_id` they were made with. */
  readSandboxOwners(worker_id: string, names: readonly string[]): Promise<Map<string, SandboxOwner>>
  /** Those of these workers that are alive. */
  findLivingWorkers(worker_id: string, worker_ids: readonly string[]): Promise<Set<string>>

  /** Takes the environment of the pool whose repositories have waited longest to be read. Others take it again after two minutes. */
  claimRefresh(worker: WorkerName): Promise<SkillRefresh | null>
  /** The verbs of a claimed refresh: without effect once another worker has it. */
  holdRefresh(worker: WorkerName, refresh: SkillRefresh): HeldRefresh
}

/** Each subscription calls back without arguments, at once, and returns how to stop. */
export interface Hints {
  /** Runs of the pool may be claimable. */
  onRuns(worker: WorkerName, listener: () => void): () => void
  /** Environments of the pool may wait to be read. */
  onRefreshes(worker: WorkerName, listener: () => void): () => void
  /** Somebody may want something of a run that this worker holds. */
  onOrder(run_id: string, listener: () => void): () => void
  /** The worker holds runs: as long as it does, each second. */
  onHeld(worker_id: string, listener: () => void): () => void
  /** A run, anybody's, may have changed. */
  onRun(run_id: string, listener: () => void): () => void
}

export interface HeldRefresh {
  /** The environment with the values of its secrets that `principal_id`, who asked, may use; `null`: it is gone. */
  findEnvironment(): Promise<EnvironmentRow | null>
  /** In clear, with a note in the audit log. `missing`: names of those that there are not. */
  useSecrets(environment: EnvironmentRow): Promise<UsedSecret[] | { missing: string[] }>
  recordSkills(environment: EnvironmentRow, found: EnvironmentSkills): Promise<void>
  /** `problem`: why nothing was read. */
  end(problem: string | null): Promise<void>
  /** Hands it back for another worker to read. */
  release(): Promise<void>
}

/** The module that the thread that beats imports, and the options for it; both can be cloned. */
export interface HeartPlan {
  module: string
  options: unknown
}

export interface Heart {
  /** False: the worker was declared lost and must stop everything. */
  beat(worker_id: string): Promise<boolean>
  /** A token that replaces the one it has. */
  renew?(token: string): void
  close(): Promise<void>
}

export type OpenHeart = (options: unknown) => Heart

export type SpawnRun = (
  lease: Lease,
  request: ChildRequest,
  key: string,
) => Promise<{ run_id: string } | Refused>
