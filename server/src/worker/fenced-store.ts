import { setTimeout as wait } from 'node:timers/promises'
import { BlobsAway } from '../blobs/blobs.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { ResolvedRun } from '../contract/run.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { UserMessage } from '../harness/harness.ts'
import type { ArtifactRow, NewArtifact } from '../store/artifacts.ts'
import type { AwaitedAttachment } from '../store/attachments.ts'
import type { ChildRow } from '../store/child-runs.ts'
import type { Diff } from '../store/diffs.ts'
import type { EnvironmentRow } from '../store/environments.ts'
import type { OpenMessage } from '../store/events.ts'
import type { Lease } from '../store/leases.ts'
import type { PreparedWorkspace } from '../store/prepared-workspaces.ts'
import type { Files, NewPush, Push, PushedPull } from '../store/pushes.ts'
import type { RunReference } from '../store/run-references.ts'
import type { RunRow } from '../store/runs.ts'
import type { NewSandbox, SandboxRow } from '../store/sandboxes.ts'
import type { NewSnapshot, SnapshotMoment, SnapshotRow } from '../store/snapshots.ts'
import type { Ending } from '../store/transitions.ts'
import type { WorkspaceEnd } from '../store/turn-ends.ts'
import type { HeldRun, OpenedValues, UsedSecret } from './held-run.ts'
import { LeaseLost, retrying } from './lease-lost.ts'

/** Whatever comes within this time of a look may as well have come after it. */
const FRESH_MS = 50
/** A file that breaks off so often, though the control plane answers each time, is one that does not pass. */
const FILE_TRIES = 10

/**
 * One lease's reads and writes. Each is fenced and is tried again while the control plane is away. It throws `LeaseLost` when the run is
 * not this attempt's any more, or when it is too late: writes end with `writing`, giving the run up with `owning`.
 */
export class FencedStore {
  readonly #held: HeldRun
  readonly lease: Lease
  readonly writing: AbortSignal
  readonly #owning: AbortSignal
  /** When an append saw that nothing waited. */
  #saw_nothing = Number.NEGATIVE_INFINITY

  constructor(held: HeldRun, signals: { writing: AbortSignal; owning: AbortSignal }) {
    this.#held = held
    this.lease = held.lease
    this.writing = signals.writing
    this.#owning = signals.owning
  }

  readRun(): Promise<RunRow | undefined> {
    return this.#write(() => this.#held.readRun())
  }

  /** No lease guards these: whoever prepared the same says the same. */
  usePreparedWorkspace(key: string): Promise<PreparedWorkspace | null> {
    return this.#write(() => this.#held.usePreparedWorkspace(key))
  }

  insertPreparedWorkspace(prepared: PreparedWorkspace, max_bytes: number): Promise<string[]> {
    return this.#write(() => this.#held.insertPreparedWorkspace(prepared, max_bytes))
  }

  deletePreparedWorkspace(blob_key: string): Promise<void> {
    return this.#write(() => this.#held.deletePreparedWorkspace(blob_key))
  }

  /** What the conversation held when the run was created. */
  readContext(run: RunRow): Promise<RunEvent[]> {
    return this.#write(() => this.#held.readContext(run))
  }

  /** The run's own log. */
  readHistory(): Promise<RunEvent[]> {
    return this.#write(() => this.#held.readHistory())
  }

  /** The run's config with the model that goes on with it: the log may know a later one. */
  async readConfig({ config }: RunRow): Promise<RunRow['config']> {
    const model_id = await this.#write(() => this.#held.readAskedModel())
    return model_id === null ? config : { ...config, model_id, harness: { ...config.harness, model_id } }
  }

  /** `sandbox`: the one that is used, where that is not recorded yet. */
  async start(resolved: ResolvedRun, sandbox?: NewSandbox): Promise<void> {
    await this.#owned(() => this.#held.start(resolved, sandbox))
  }

  /** With the end of its turn. False: a follow-up came meanwhile, which is to be delivered first. */
  async finish(ending: Ending, turn_end?: WorkspaceEnd): Promise<boolean> {
    const result = await this.#write(() => this.#held.finish(ending, turn_end))
    // The turn is over whatever becomes of the run.
    if (result !== 'finished' && turn_end) await this.recordTurnEnd(turn_end)
    if (result === 'lost') throw new LeaseLost()
    return result === 'finished'
  }

  async acknowledgeInterrupt(sequence: number): Promise<void> {
    await this.#owned(() => this.#held.acknowledgeInterrupt(sequence))
  }

  async writeHarnessState(state: Record<string, unknown>): Promise<void> {
    await this.#owned(() => this.#held.writeHarnessState(state))
  }

  /** False: the run does not take this attempt's events any more. */
  async appendEvents(batch: number, events: NewEvent[]): Promise<boolean> {
    const asked = performance.now()
    const appended = await this.#write(() => this.#held.appendEvents(batch, events))
    this.#saw_nothing = appended === 'stored' ? asked : Number.NEGATIVE_INFINITY
    return appended !== 'lost'
  }

  /** Whether there is no need to ask once more: an append has only just seen that nothing waited. */
  sawNothingWaiting(): boolean {
    return performance.now() - this.#saw_nothing < FRESH_MS
  }

  /** The final message replaces them, so a failed write isn't retried. */
  writeOpenMessages(messages: OpenMessage[]): Promise<boolean> {
    return this.#held.writeOpenMessages(messages)
  }

  /**
   * Puts the messages that wait into the log and returns them, or the interrupt that comes first. What a statement delivered
   * whose answer was not heard is in the log after `since`, so it is read from there.
   */
  deliverFollowups(since: number): Promise<{ messages: UserMessage[]; interrupt: number | null }> {
    let tries = 0
    return this.#write(async () => {
      tries += 1
      const delivery = await this.#held.deliverFollowups()
      if (delivery === 'lost') throw new LeaseLost()
      const interrupt = 'interrupt' in delivery ? delivery.interrupt : null
      if (tries > 1) return { messages: await this.#held.readMessagesSince(since), interrupt }
      return { messages: 'messages' in delivery ? delivery.messages : [], interrupt }
    })
  }

  /** Attachments that the workspace does not hold yet. */
  readAwaitedAttachments(): Promise<AwaitedAttachment[]> {
    return this.#write(() => this.#held.readAwaitedAttachments())
  }

  markAttachmentWritten(attachment_id: string): Promise<void> {
    return this.#write(() => this.#held.markAttachmentWritten(attachment_id))
  }

  findEnvironment(uid: string): Promise<EnvironmentRow | null> {
    return this.#write(() => this.#held.findEnvironment(uid))
  }

  /** In clear, those that the run may use; or the names of those that it can't have. */
  useSecrets(names: readonly string[], run: RunRow): Promise<UsedSecret[] | { missing: string[] }> {
    return this.#write(() => this.#held.useSecrets(names, run))
  }

  openValues(of: { run: RunRow; environment: EnvironmentRow | null }): Promise<OpenedValues> {
    return this.#write(() => this.#held.openValues(of))
  }

  /** Whether the environment could be set up when it was last tried. */
  markSetup(uid: string, failed: boolean): Promise<void> {
    return this.#write(() => this.#held.markSetup(uid, failed))
  }

  /** What its repositories hold for agents, as this run found them. */
  recordSkills(environment: { uid: string; last_updated: Date }, found: EnvironmentSkills): Promise<void> {
    return this.#write(() => this.#held.recordSkills(environment, found))
  }

  /** The sandbox that an attempt before used, wherever it is. */
  readSandbox(): Promise<SandboxRow | null> {
    return this.#write(() => this.#held.readSandbox())
  }

  async recordSandbox(sandbox: NewSandbox): Promise<void> {
    await this.#owned(() => this.#held.recordSandbox(sandbox))
  }

  /** The newest snapshot of the run's workspace. */
  findSnapshot(): Promise<SnapshotRow | null> {
    return this.#write(() => this.#held.findSnapshot())
  }

  /** Where the run stands. */
  async readMoment(): Promise<SnapshotMoment> {
    const moment = await this.#write(() => this.#held.readMoment())
    if (!moment) throw new LeaseLost()
    return moment
  }

  /** Returns the blobs that no row names any more. */
  async insertSnapshot(snapshot: NewSnapshot, turns: number): Promise<string[]> {
    const removed = await this.#write(() => this.#held.insertSnapshot(snapshot, turns))
    if (!removed) throw new LeaseLost()
    return removed
  }

  confirmSnapshot(snapshot_id: string): Promise<void> {
    return this.#write(() => this.#held.confirmSnapshot(snapshot_id))
  }

  /** Returns the blobs that no row names any more. */
  removeOlderSnapshots(turns: number): Promise<string[]> {
    return this.#write(() => this.#held.removeOlderSnapshots(turns))
  }

  recordTurnEnd(workspace: WorkspaceEnd): Promise<void> {
    return this.#write(() => this.#held.recordTurnEnd(workspace))
  }

  release(): Promise<{ released: boolean }> {
    return retrying(() => this.#held.release(), this.#owning)
  }

  requeue(reason: string, counted: boolean, pool: string): Promise<boolean> {
    return retrying(() => this.#held.requeue(reason, counted, pool), this.#owning)
  }

  readArtifactHashes(): Promise<Map<string, string>> {
    return this.#write(() => this.#held.readArtifactHashes())
  }

  readKeptBytes(): Promise<number> {
    return this.#write(() => this.#held.readKeptBytes())
  }

  async insertArtifact(artifact: NewArtifact): Promise<void> {
    await this.#owned(() => this.#held.insertArtifact(artifact))
  }

  findArtifactOf(filepath: string): Promise<ArtifactRow | null> {
    return this.#write(() => this.#held.findArtifactOf(filepath))
  }

  countArtifacts(): Promise<number> {
    return this.#write(() => this.#held.countArtifacts())
  }

  /** Returns the blob that no row names any more. */
  async putPlan(plan: NewArtifact & { title: string }): Promise<string | null> {
    const put = await this.#write(() => this.#held.putPlan(plan))
    if (!put) throw new LeaseLost()
    return put.replaced
  }

  readReferenceUrls(): Promise<Set<string>> {
    return this.#write(() => this.#held.readReferenceUrls())
  }

  async recordReference(reference: RunReference): Promise<void> {
    await this.#owned(() => this.#held.recordReference(reference))
  }

  /** The newest diff that is kept. */
  findDiff(): Promise<(Diff & { sha256: string }) | null> {
    return this.#write(() => this.#held.findDiff())
  }

  readTurn(): Promise<number> {
    return this.#write(() => this.#held.readTurn())
  }

  async insertDiff(patch: NewArtifact, diff: Diff): Promise<void> {
    await this.#owned(() => this.#held.insertDiff(patch, diff))
  }

  readPushes(): Promise<Map<string, Push>> {
    return this.#write(() => this.#held.readPushes())
  }

  findPushedPulls(files: Files): Promise<PushedPull[]> {
    return this.#write(() => this.#held.findPushedPulls(files))
  }

  takePullTurn(files: Files): Promise<boolean> {
    return this.#write(() => this.#held.takePullTurn(files))
  }

  endPullTurn(files: Files): Promise<void> {
    return this.#write(() => this.#held.endPullTurn(files))
  }

  async recordPush(push: NewPush): Promise<void> {
    await this.#owned(() => this.#held.recordPush(push))
  }

  /** Another run, as its principal sees it. */
  findRun(run_id: string, principal_id: string): Promise<RunRow | null> {
    return this.#write(() => this.#held.findRun(run_id, principal_id))
  }

  listChildren(run: { run_id: string; principal_id: string }, most: number): Promise<ChildRow[]> {
    return this.#write(() => this.#held.listChildren(run, most))
  }

  readLastMessage(run_id: string): Promise<string | null> {
    return this.#write(() => this.#held.readLastMessage(run_id))
  }

  /**
   * Stores or reads a file, anew while the control plane is away: `work` opens its source each time. Throws `BlobsAway` where the
   * control plane answers and the file breaks off all the same, again and again.
   */
  async passing<T>(work: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof BlobsAway) || tries >= FILE_TRIES) throw error
        const pause = Math.min(100 * 2 ** tries, 2_000)
        await wait(pause, undefined, { signal: this.writing }).catch(() => {
          throw new LeaseLost()
        })
        // Waits until it answers, and learns whether the run is still this attempt's.
        await this.readTurn()
      }
    }
  }

  /** Work of others at the same database, which is safe to repeat. */
  repeating<T>(work: () => Promise<T>): Promise<T> {
    return this.#write(work)
  }

  /** Whether another worker of the pool could do what this one cannot. */
  hasOtherWorker(pool: string): Promise<boolean> {
    return this.#write(() => this.#held.hasOtherWorker(pool))
  }

  /** Tells others that the run's log or files changed. */
  touch(): void {
    this.#held.touch()
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    return retrying(work, this.writing)
  }

  async #owned(work: () => Promise<boolean>): Promise<void> {
    if (!(await this.#write(work))) throw new LeaseLost()
  }
}
