import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { ResolvedRun } from '../contract/run.ts'
import type { GitAccess, RegistryAccess } from '../contract/secret.ts'
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

/** A secret in clear, with which version of which one it is. */
export interface UsedSecret {
  name: string
  value: string
  version: string
  git: GitAccess | null
  registry: RegistryAccess | null
}

/** Values that are taken out of what is stored: of the run's tool servers, and of the environment's variables. */
export interface OpenedValues {
  run: Record<string, string>
  environment: Record<string, string>
  /** Changes when the environment's values do. */
  environment_version: string
}

/**
 * One lease's verbs, each one try. Those that change something are fenced: they do nothing once the run is not this attempt's
 * any more, and say so (`false`, `null`, `'lost'`). Reads are of the run that is held, what it names, and the runs below it.
 * All are safe to repeat. A verb that changes what others see tells them of it.
 */
export interface HeldRun {
  readonly lease: Lease

  readRun(): Promise<RunRow | undefined>
  /** What the conversation held when the run was created. */
  readContext(run: RunRow): Promise<RunEvent[]>
  readHistory(): Promise<RunEvent[]>
  /** Messages in the log after this sequence. */
  readMessagesSince(sequence: number): Promise<UserMessage[]>
  /** The model that the log names last, if it names one. */
  readAskedModel(): Promise<string | null>
  openValues(of: { run: RunRow; environment: EnvironmentRow | null }): Promise<OpenedValues>

  /** CLAIMED → INPROGRESS. `sandbox`: the one that is used, where that is not recorded yet. False: lost. */
  start(resolved: ResolvedRun, sandbox: NewSandbox | undefined): Promise<boolean>
  /** With the end of its turn. `'undelivered'`: a follow-up came meanwhile, which is to be delivered first. */
  finish(ending: Ending, turn_end: WorkspaceEnd | undefined): Promise<'finished' | 'undelivered' | 'lost'>
  /** Gives up a run that has ended. `released: false`: it is still at work. */
  release(): Promise<{ released: boolean }>
  /** Puts a run that is at work back in its pool's queue. `counted`: as one that failed here. */
  requeue(reason: string, counted: boolean, pool: string): Promise<boolean>

  /** `batch` rises with each batch that may be stored; one that is repeated is stored once. */
  appendEvents(batch: number, events: NewEvent[]): Promise<'stored' | 'waiting' | 'lost'>
  /** Replaced by the final message, so a failed write isn't retried. */
  writeOpenMessages(messages: OpenMessage[]): Promise<boolean>
  /** Puts the messages that wait into the log and returns them, or the interrupt that comes first. */
  deliverFollowups(): Promise<{ messages: UserMessage[] } | { interrupt: number } | 'lost'>
  acknowledgeInterrupt(sequence: number): Promise<boolean>
  writeHarnessState(state: Record<string, unknown>): Promise<boolean>

  findEnvironment(uid: string): Promise<EnvironmentRow | null>
  /** In clear, with a note in the audit log before they are opened. `missing`: names of those that the run can't have. */
  useSecrets(names: readonly string[], run: RunRow): Promise<UsedSecret[] | { missing: string[] }>
  /** Whether the environment could be set up when it was last tried. */
  markSetup(uid: string, failed: boolean): Promise<void>
  recordSkills(environment: { uid: string; last_updated: Date }, found: EnvironmentSkills): Promise<void>

  /** The sandbox that an attempt before used, wherever it is. */
  readSandbox(): Promise<SandboxRow | null>
  recordSandbox(sandbox: NewSandbox): Promise<boolean>

  findSnapshot(): Promise<SnapshotRow | null>
  /** Where the run stands; `null`: lost. */
  readMoment(): Promise<SnapshotMoment | null>
  /** The blobs that no row names any more; `null`: lost. */
  insertSnapshot(snapshot: NewSnapshot, turns: number): Promise<string[] | null>
  confirmSnapshot(snapshot_id: string): Promise<void>
  removeOlderSnapshots(turns: number): Promise<string[]>
  recordTurnEnd(workspace: WorkspaceEnd): Promise<void>

  /** No lease guards what setups left: whoever prepared the same says the same. */
  usePreparedWorkspace(key: string): Promise<PreparedWorkspace | null>
  /** The blobs that no row names any more. */
  insertPreparedWorkspace(prepared: PreparedWorkspace, max_bytes: number): Promise<string[]>
  deletePreparedWorkspace(blob_key: string): Promise<void>

  readAwaitedAttachments(): Promise<AwaitedAttachment[]>
  markAttachmentWritten(attachment_id: string): Promise<void>
  /** The bytes of all that the run keeps: attachments and artifacts. */
  readKeptBytes(): Promise<number>
  /** The hashes of what is kept, by path. */
  readArtifactHashes(): Promise<Map<string, string>>
  insertArtifact(artifact: NewArtifact): Promise<boolean>
  findArtifactOf(filepath: string): Promise<ArtifactRow | null>
  countArtifacts(): Promise<number>
  /** `replaced`: the blob that no row names any more. `null`: lost. */
  putPlan(plan: NewArtifact & { title: string }): Promise<{ replaced: string | null } | null>
  readReferenceUrls(): Promise<Set<string>>
  recordReference(reference: RunReference): Promise<boolean>
  findDiff(): Promise<(Diff & { sha256: string }) | null>
  readTurn(): Promise<number>
  insertDiff(patch: NewArtifact, diff: Diff): Promise<boolean>

  readPushes(): Promise<Map<string, Push>>
  findPushedPulls(files: Files): Promise<PushedPull[]>
  takePullTurn(files: Files): Promise<boolean>
  endPullTurn(files: Files): Promise<void>
  recordPush(push: NewPush): Promise<boolean>

  /** A run, as `principal_id`, the run's own, sees it. */
  findRun(run_id: string, principal_id: string): Promise<RunRow | null>
  listChildren(run: { run_id: string; principal_id: string }, most: number): Promise<ChildRow[]>
  readLastMessage(run_id: string): Promise<string | null>

  /** Whether another worker of the pool could do what this one can't. */
  hasOtherWorker(pool: string): Promise<boolean>
  /** Tells others that the run's log or files changed. */
  touch(): void
}
