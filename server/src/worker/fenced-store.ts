import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { ResolvedRun } from '../contract/run.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { UserMessage } from '../harness/harness.ts'
import {
  type ArtifactRow,
  countArtifacts,
  findArtifactOf,
  insertArtifact,
  type NewArtifact,
  readArtifactHashes,
} from '../store/artifacts.ts'
import {
  type AwaitedAttachment,
  markAttachmentWritten,
  readAwaitedAttachments,
  readKeptBytes,
} from '../store/attachments.ts'
import { noteSecrets } from '../store/audit-log.ts'
import { type ChildRow, listChildren, readLastMessage } from '../store/child-runs.ts'
import type { Db } from '../store/db.ts'
import { type Diff, findDiff, insertDiff, readTurn } from '../store/diffs.ts'
import { type EnvironmentRow, findEnvironment, markSetup } from '../store/environments.ts'
import {
  appendEvents,
  type OpenMessage,
  readAskedModel,
  readHistory,
  readLogPages,
  readOwnHistory,
  writeOpenMessages,
} from '../store/events.ts'
import { deliverFollowups } from '../store/followups.ts'
import { writeHarnessState } from '../store/harness-state.ts'
import { acknowledgeInterrupt, type Lease, releaseRun } from '../store/leases.ts'
import { putPlan } from '../store/plans.ts'
import {
  deletePreparedWorkspace,
  insertPreparedWorkspace,
  type PreparedWorkspace,
  usePreparedWorkspace,
} from '../store/prepared-workspaces.ts'
import { endPullTurn, takePullTurn } from '../store/pull-turns.ts'
import {
  type Files,
  findPushedPulls,
  type NewPush,
  type Push,
  type PushedPull,
  readPushes,
  recordPush,
} from '../store/pushes.ts'
import { type RunReference, readReferenceUrls, recordReference } from '../store/run-references.ts'
import { findRun, type RunRow, readRuns } from '../store/runs.ts'
import { type NewSandbox, readSandbox, recordSandbox, type SandboxRow } from '../store/sandboxes.ts'
import { readSecrets, type SecretRow } from '../store/secrets.ts'
import { recordSkills } from '../store/skills.ts'
import {
  confirmSnapshot,
  findSnapshot,
  insertSnapshot,
  type NewSnapshot,
  readMoment,
  removeOlderSnapshots,
  type SnapshotMoment,
  type SnapshotRow,
} from '../store/snapshots.ts'
import { type Ending, finishRun, requeueRun, startRun } from '../store/transitions.ts'
import { recordTurnEnd, type WorkspaceEnd } from '../store/turn-ends.ts'
import type { Watch } from '../store/watch.ts'
import { hasOtherWorker } from '../store/workers.ts'
import { LeaseLost, retrying } from './lease-lost.ts'

type Told = Pick<Watch, 'takeHint' | 'touchLog'>

/** Whatever comes within this time of a look may as well have come after it. */
const FRESH_MS = 50

/**
 * One lease's reads and writes. Each statement is fenced and is tried again while the database is away. It tells other processes if it
 * changed a log or a state. It throws `LeaseLost` when the run is not this attempt's any more, or when it is too late: writes end with
 * `writing`, giving the run up with `owning`.
 */
export class FencedStore {
  readonly #db: Db
  readonly #watch: Told
  readonly lease: Lease
  readonly writing: AbortSignal
  readonly #owning: AbortSignal
  /** When an append saw that nothing waited. */
  #saw_nothing = Number.NEGATIVE_INFINITY

  constructor(
    { db, watch }: { db: Db; watch: Told },
    lease: Lease,
    signals: { writing: AbortSignal; owning: AbortSignal },
  ) {
    this.#db = db
    this.#watch = watch
    this.lease = lease
    this.writing = signals.writing
    this.#owning = signals.owning
  }

  async readRun(): Promise<RunRow | undefined> {
    const [run] = await this.#write(() => readRuns(this.#db, [this.lease.run_id]))
    return run
  }

  /** No lease guards these: whoever prepared the same says the same. */
  usePreparedWorkspace(key: string): Promise<PreparedWorkspace | null> {
    return this.#write(() => usePreparedWorkspace(this.#db, key))
  }

  insertPreparedWorkspace(prepared: PreparedWorkspace, max_bytes: number): Promise<string[]> {
    return this.#write(() => insertPreparedWorkspace(this.#db, prepared, max_bytes))
  }

  deletePreparedWorkspace(blob_key: string): Promise<void> {
    return this.#write(() => deletePreparedWorkspace(this.#db, blob_key))
  }

  /** What the conversation held when the run was created. */
  readContext({ context }: RunRow): Promise<RunEvent[]> {
    return this.#write(() => readHistory(this.#db, context))
  }

  /** The run's own log. */
  readHistory(): Promise<RunEvent[]> {
    return this.#write(() => readOwnHistory(this.#db, this.lease.run_id))
  }

  /** The run's config with the model that goes on with it: the log may know a later one. */
  async readConfig({ config }: RunRow): Promise<RunRow['config']> {
    const model_id = await this.#write(() => readAskedModel(this.#db, this.lease.run_id))
    return model_id === null ? config : { ...config, model_id, harness: { ...config.harness, model_id } }
  }

  /** `sandbox`: the one that is used, where that is not recorded yet. */
  async start(resolved: ResolvedRun, sandbox?: NewSandbox): Promise<void> {
    await this.#telling((hint) =>
      this.#owned(() => startRun(this.#db, this.lease, resolved, { sandbox, hint })),
    )
  }

  /** With the end of its turn. False: a follow-up came meanwhile, which is to be delivered first. */
  async finish(ending: Ending, turn_end?: WorkspaceEnd): Promise<boolean> {
    const result = await this.#telling((hint) =>
      this.#write(() => finishRun(this.#db, this.lease, ending, { turn_end, hint })),
    )
    // The turn is over whatever becomes of the run.
    if (result !== 'finished' && turn_end) await this.recordTurnEnd(turn_end)
    if (result === 'lost') throw new LeaseLost()
    return result === 'finished'
  }

  async acknowledgeInterrupt(sequence: number): Promise<void> {
    await this.#owned(() => acknowledgeInterrupt(this.#db, this.lease, sequence))
  }

  async writeHarnessState(state: Record<string, unknown>): Promise<void> {
    await this.#owned(() => writeHarnessState(this.#db, this.lease, state))
  }

  /** False: the run does not take this attempt's events any more. */
  async appendEvents(batch: number, events: NewEvent[]): Promise<boolean> {
    const asked = performance.now()
    const appended = await this.#telling((hint) =>
      this.#write(() => appendEvents(this.#db, this.lease, batch, events, hint)),
    )
    this.#saw_nothing = appended === 'stored' ? asked : Number.NEGATIVE_INFINITY
    return appended !== 'lost'
  }

  /** Whether there is no need to ask once more: an append has only just seen that nothing waited. */
  sawNothingWaiting(): boolean {
    return performance.now() - this.#saw_nothing < FRESH_MS
  }

  /** Worth nothing later, so never tried again. */
  writeOpenMessages(messages: OpenMessage[]): Promise<boolean> {
    return this.#telling((hint) => writeOpenMessages(this.#db, this.lease, messages, hint))
  }

  /**
   * Puts the messages that wait into the log and returns them, or the interrupt that comes first. What a statement delivered
   * whose answer was not heard is in the log after `since`, so it is read from there.
   */
  deliverFollowups(since: number): Promise<{ messages: UserMessage[]; interrupt: number | null }> {
    let tries = 0
    return this.#write(async () => {
      tries += 1
      const delivery = await deliverFollowups(this.#db, this.lease)
      if (delivery === 'lost') throw new LeaseLost()
      const interrupt = 'interrupt' in delivery ? delivery.interrupt : null
      if (tries > 1) return { messages: await this.#readDelivered(since), interrupt }
      return { messages: 'messages' in delivery ? delivery.messages : [], interrupt }
    })
  }

  async #readDelivered(since: number): Promise<UserMessage[]> {
    const messages: UserMessage[] = []
    for await (const events of readLogPages(this.#db, this.lease.run_id, since))
      messages.push(...events.filter((event) => event.type === 'message.user'))
    return messages
  }

  /** Attachments that the workspace does not hold yet. */
  readAwaitedAttachments(): Promise<AwaitedAttachment[]> {
    return this.#write(() => readAwaitedAttachments(this.#db, this.lease.run_id))
  }

  markAttachmentWritten(attachment_id: string): Promise<void> {
    return this.#write(() => markAttachmentWritten(this.#db, this.lease, attachment_id))
  }

  findEnvironment(uid: string): Promise<EnvironmentRow | null> {
    return this.#write(() => findEnvironment(this.#db, uid))
  }

  /** Into the audit log, before any of them is opened. */
  noteSecrets(names: readonly string[], { run_id, principal_id }: RunRow): Promise<void> {
    return this.#write(() => noteSecrets(this.#db, { target: run_id, principal_id, names }))
  }

  /** Those that the run may use. */
  readSecrets(names: readonly string[], { run_id, principal_id, scope }: RunRow): Promise<SecretRow[]> {
    const use = { run_id, principal_id, personal: scope === 'User' }
    return this.#write(() => readSecrets(this.#db, names, use))
  }

  /** Whether the environment could be set up when it was last tried. */
  markSetup(uid: string, failed: boolean): Promise<void> {
    return this.#write(() => markSetup(this.#db, uid, failed))
  }

  /** What its repositories hold for agents, as this run found them. */
  recordSkills(environment: { uid: string; last_updated: Date }, found: EnvironmentSkills): Promise<void> {
    return this.#write(() => recordSkills(this.#db, environment, found))
  }

  /** The sandbox that an attempt before used, wherever it is. */
  readSandbox(): Promise<SandboxRow | null> {
    return this.#write(() => readSandbox(this.#db, this.lease.run_id))
  }

  async recordSandbox(sandbox: NewSandbox): Promise<void> {
    await this.#owned(() => recordSandbox(this.#db, this.lease, sandbox))
  }

  /** The newest snapshot of the run's workspace. */
  findSnapshot(): Promise<SnapshotRow | null> {
    return this.#write(() => findSnapshot(this.#db, this.lease.run_id))
  }

  /** Where the run stands. */
  async readMoment(): Promise<SnapshotMoment> {
    const moment = await this.#write(() => readMoment(this.#db, this.lease))
    if (!moment) throw new LeaseLost()
    return moment
  }

  /** Returns the blobs that no row names any more. */
  async insertSnapshot(snapshot: NewSnapshot, turns: number): Promise<string[]> {
    const removed = await this.#write(() => insertSnapshot(this.#db, this.lease, snapshot, turns))
    if (!removed) throw new LeaseLost()
    return removed
  }

  confirmSnapshot(snapshot_id: string): Promise<void> {
    return this.#write(() => confirmSnapshot(this.#db, this.lease, snapshot_id))
  }

  /** Returns the blobs that no row names any more. */
  removeOlderSnapshots(turns: number): Promise<string[]> {
    return this.#write(() => removeOlderSnapshots(this.#db, this.lease, turns))
  }

  recordTurnEnd(workspace: WorkspaceEnd): Promise<void> {
    return this.#write(() => recordTurnEnd(this.#db, this.lease, workspace))
  }

  release(): Promise<{ released: boolean; claimable_in: string | null }> {
    return this.#telling((hint) => retrying(() => releaseRun(this.#db, this.lease, hint), this.#owning))
  }

  requeue(reason: string, counted: boolean): Promise<boolean> {
    return retrying(() => requeueRun(this.#db, this.lease, reason, counted), this.#owning)
  }

  readArtifactHashes(): Promise<Map<string, string>> {
    return this.#write(() => readArtifactHashes(this.#db, this.lease.run_id))
  }

  readKeptBytes(): Promise<number> {
    return this.#write(() => readKeptBytes(this.#db, this.lease.run_id))
  }

  async insertArtifact(artifact: NewArtifact): Promise<void> {
    await this.#owned(() => insertArtifact(this.#db, this.lease, artifact))
  }

  findArtifactOf(filepath: string): Promise<ArtifactRow | null> {
    return this.#write(() => findArtifactOf(this.#db, this.lease.run_id, filepath))
  }

  countArtifacts(): Promise<number> {
    return this.#write(() => countArtifacts(this.#db, this.lease.run_id))
  }

  /** Returns the blob that no row names any more. */
  async putPlan(plan: NewArtifact & { title: string }): Promise<string | null> {
    const put = await this.#write(() => putPlan(this.#db, this.lease, plan))
    if (!put) throw new LeaseLost()
    return put.replaced
  }

  readReferenceUrls(): Promise<Set<string>> {
    return this.#write(() => readReferenceUrls(this.#db, this.lease.run_id))
  }

  async recordReference(reference: RunReference): Promise<void> {
    await this.#owned(() => recordReference(this.#db, this.lease, reference))
  }

  /** The newest diff that is kept. */
  findDiff(): Promise<(Diff & { sha256: string }) | null> {
    return this.#write(() => findDiff(this.#db, this.lease.run_id))
  }

  readTurn(): Promise<number> {
    return this.#write(() => readTurn(this.#db, this.lease.run_id))
  }

  async insertDiff(patch: NewArtifact, diff: Diff): Promise<void> {
    await this.#owned(() => insertDiff(this.#db, this.lease, patch, diff))
  }

  readPushes(): Promise<Map<string, Push>> {
    return this.#write(() => readPushes(this.#db, this.lease.run_id))
  }

  findPushedPulls(files: Files): Promise<PushedPull[]> {
    return this.#write(() => findPushedPulls(this.#db, this.lease.run_id, files))
  }

  takePullTurn(files: Files): Promise<boolean> {
    return this.#write(() => takePullTurn(this.#db, this.lease, files))
  }

  endPullTurn(files: Files): Promise<void> {
    return this.#write(() => endPullTurn(this.#db, this.lease, files))
  }

  async recordPush(push: NewPush): Promise<void> {
    await this.#owned(() => recordPush(this.#db, this.lease, push))
  }

  /** Another run, as its principal sees it. */
  findRun(run_id: string, principal_id: string): Promise<RunRow | null> {
    return this.#write(() => findRun(this.#db, run_id, { principal_id, role: 'member', key_id: '' }))
  }

  listChildren(run: { run_id: string; principal_id: string }, most: number): Promise<ChildRow[]> {
    return this.#write(() => listChildren(this.#db, run, most))
  }

  readLastMessage(run_id: string): Promise<string | null> {
    return this.#write(() => readLastMessage(this.#db, run_id))
  }

  /** Work of others at the same database, which is safe to repeat. */
  repeating<T>(work: () => Promise<T>): Promise<T> {
    return this.#write(work)
  }

  /** Whether another worker of the pool could do what this one cannot. */
  hasOtherWorker(pool: string): Promise<boolean> {
    return this.#write(() => hasOtherWorker(this.#db, { worker_id: this.lease.worker_id, pool }))
  }

  /** Others hear of what is written at its commit, or soon after it. */
  async #telling<T>(write: (hint: string | null) => Promise<T>): Promise<T> {
    const { run_id } = this.lease
    const hint = this.#watch.takeHint({ logged: run_id })
    try {
      return await write(hint)
    } finally {
      if (hint === null) this.#watch.touchLog(run_id)
    }
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    return retrying(work, this.writing)
  }

  async #owned(work: () => Promise<boolean>): Promise<void> {
    if (!(await this.#write(work))) throw new LeaseLost()
  }
}
