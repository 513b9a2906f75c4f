import { createHash } from 'node:crypto'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { ResolvedRun } from '../contract/run.ts'
import type { EnvironmentSkills } from '../contract/skill.ts'
import type { UserMessage } from '../harness/harness.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { unseal } from '../sealing/sealing.ts'
import { openSecret } from '../sealing/secret-value.ts'
import {
  countArtifacts,
  findArtifactOf,
  insertArtifact,
  type NewArtifact,
  readArtifactHashes,
} from '../store/artifacts.ts'
import { markAttachmentWritten, readAwaitedAttachments, readKeptBytes } from '../store/attachments.ts'
import { noteSecrets } from '../store/audit-log.ts'
import { listChildren, readLastMessage } from '../store/child-runs.ts'
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
import { type Files, findPushedPulls, type NewPush, readPushes, recordPush } from '../store/pushes.ts'
import { type RunReference, readReferenceUrls, recordReference } from '../store/run-references.ts'
import { findRun, type RunRow, readRuns } from '../store/runs.ts'
import { type NewSandbox, readSandbox, recordSandbox } from '../store/sandboxes.ts'
import { readSecrets } from '../store/secrets.ts'
import { recordSkills } from '../store/skills.ts'
import {
  confirmSnapshot,
  findSnapshot,
  insertSnapshot,
  type NewSnapshot,
  readMoment,
  removeOlderSnapshots,
} from '../store/snapshots.ts'
import { type Ending, finishRun, requeueRun, startRun } from '../store/transitions.ts'
import { recordTurnEnd, type WorkspaceEnd } from '../store/turn-ends.ts'
import type { Watch } from '../store/watch.ts'
import { hasOtherWorker } from '../store/workers.ts'
import type { HeldRun, OpenedValues, UsedSecret } from '../worker/held-run.ts'

export interface StoredServices {
  db: Db
  watch: Pick<Watch, 'takeHint' | 'touchLog' | 'touchRun' | 'touchPool'>
  seal_key: Keyring
}

/** One lease's verbs, beside the database. */
export class StoredRun implements HeldRun {
  readonly #db: Db
  readonly #services: StoredServices
  readonly lease: Lease

  constructor(services: StoredServices, lease: Lease) {
    this.#db = services.db
    this.#services = services
    this.lease = lease
  }

  async readRun(): Promise<RunRow | undefined> {
    const [run] = await readRuns(this.#db, [this.lease.run_id])
    return run
  }

  readContext({ context }: RunRow): Promise<RunEvent[]> {
    return readHistory(this.#db, context)
  }

  readHistory(): Promise<RunEvent[]> {
    return readOwnHistory(this.#db, this.lease.run_id)
  }

  async readMessagesSince(sequence: number): Promise<UserMessage[]> {
    const messages: UserMessage[] = []
    for await (const events of readLogPages(this.#db, this.lease.run_id, sequence))
      messages.push(...events.filter((event) => event.type === 'message.user'))
    return messages
  }

  readAskedModel() {
    return readAskedModel(this.#db, this.lease.run_id)
  }

  async openValues({
    run,
    environment,
  }: {
    run: RunRow
    environment: EnvironmentRow | null
  }): Promise<OpenedValues> {
    const { seal_key } = this.#services
    return {
      run: run.sealed ? unseal(seal_key, run.run_id, run.sealed) : {},
      environment: environment?.sealed ? unseal(seal_key, environment.uid, environment.sealed) : {},
      environment_version: createHash('sha256')
        .update(environment?.sealed ?? '')
        .digest('hex'),
    }
  }

  start(resolved: ResolvedRun, sandbox: NewSandbox | undefined) {
    return this.#telling((hint) => startRun(this.#db, this.lease, resolved, { sandbox, hint }))
  }

  finish(ending: Ending, turn_end: WorkspaceEnd | undefined) {
    return this.#telling((hint) => finishRun(this.#db, this.lease, ending, { turn_end, hint }))
  }

  async release(): Promise<{ released: boolean }> {
    const { watch } = this.#services
    const { released, claimable_in } = await this.#telling((hint) => releaseRun(this.#db, this.lease, hint))
    if (claimable_in) watch.touchPool(claimable_in)
    return { released }
  }

  async requeue(reason: string, counted: boolean, pool: string): Promise<boolean> {
    const { watch } = this.#services
    const requeued = await requeueRun(this.#db, this.lease, reason, counted)
    if (requeued) watch.touchPool(pool)
    watch.touchRun(this.lease.run_id)
    return requeued
  }

  appendEvents(batch: number, events: NewEvent[]) {
    return this.#telling((hint) => appendEvents(this.#db, this.lease, batch, events, hint))
  }

  writeOpenMessages(messages: OpenMessage[]) {
    return this.#telling((hint) => writeOpenMessages(this.#db, this.lease, messages, hint))
  }

  deliverFollowups() {
    return deliverFollowups(this.#db, this.lease)
  }

  acknowledgeInterrupt(sequence: number) {
    return acknowledgeInterrupt(this.#db, this.lease, sequence)
  }

  writeHarnessState(state: Record<string, unknown>) {
    return writeHarnessState(this.#db, this.lease, state)
  }

  findEnvironment(uid: string) {
    return findEnvironment(this.#db, uid)
  }

  useSecrets(names: readonly string[], { run_id, principal_id, scope }: RunRow) {
    const use = { run_id, principal_id, personal: scope === 'User' }
    return useSecrets(this.#services, names, { ...use, target: run_id })
  }

  markSetup(uid: string, failed: boolean) {
    return markSetup(this.#db, uid, failed)
  }

  recordSkills(environment: { uid: string; last_updated: Date }, found: EnvironmentSkills) {
    return recordSkills(this.#db, environment, found)
  }

  readSandbox() {
    return readSandbox(this.#db, this.lease.run_id)
  }

  recordSandbox(sandbox: NewSandbox) {
    return recordSandbox(this.#db, this.lease, sandbox)
  }

  findSnapshot() {
    return findSnapshot(this.#db, this.lease.run_id)
  }

  readMoment() {
    return readMoment(this.#db, this.lease)
  }

  insertSnapshot(snapshot: NewSnapshot, turns: number) {
    return insertSnapshot(this.#db, this.lease, snapshot, turns)
  }

  confirmSnapshot(snapshot_id: string) {
    return confirmSnapshot(this.#db, this.lease, snapshot_id)
  }

  removeOlderSnapshots(turns: number) {
    return removeOlderSnapshots(this.#db, this.lease, turns)
  }

  recordTurnEnd(workspace: WorkspaceEnd) {
    return recordTurnEnd(this.#db, this.lease, workspace)
  }

  usePreparedWorkspace(key: string) {
    return usePreparedWorkspace(this.#db, key)
  }

  insertPreparedWorkspace(prepared: PreparedWorkspace, max_bytes: number) {
    return insertPreparedWorkspace(this.#db, prepared, max_bytes)
  }

  deletePreparedWorkspace(blob_key: string) {
    return deletePreparedWorkspace(this.#db, blob_key)
  }

  readAwaitedAttachments() {
    return readAwaitedAttachments(this.#db, this.lease.run_id)
  }

  markAttachmentWritten(attachment_id: string) {
    return markAttachmentWritten(this.#db, this.lease, attachment_id)
  }

  readKeptBytes() {
    return readKeptBytes(this.#db, this.lease.run_id)
  }

  readArtifactHashes() {
    return readArtifactHashes(this.#db, this.lease.run_id)
  }

  insertArtifact(artifact: NewArtifact) {
    return insertArtifact(this.#db, this.lease, artifact)
  }

  findArtifactOf(filepath: string) {
    return findArtifactOf(this.#db, this.lease.run_id, filepath)
  }

  countArtifacts() {
    return countArtifacts(this.#db, this.lease.run_id)
  }

  putPlan(plan: NewArtifact & { title: string }) {
    return putPlan(this.#db, this.lease, plan)
  }

  readReferenceUrls() {
    return readReferenceUrls(this.#db, this.lease.run_id)
  }

  recordReference(reference: RunReference) {
    return recordReference(this.#db, this.lease, reference)
  }

  findDiff() {
    return findDiff(this.#db, this.lease.run_id)
  }

  readTurn() {
    return readTurn(this.#db, this.lease.run_id)
  }

  insertDiff(patch: NewArtifact, diff: Diff) {
    return insertDiff(this.#db, this.lease, patch, diff)
  }

  readPushes() {
    return readPushes(this.#db, this.lease.run_id)
  }

  findPushedPulls(files: Files) {
    return findPushedPulls(this.#db, this.lease.run_id, files)
  }

  takePullTurn(files: Files) {
    return takePullTurn(this.#db, this.lease, files)
  }

  endPullTurn(files: Files) {
    return endPullTurn(this.#db, this.lease, files)
  }

  recordPush(push: NewPush) {
    return recordPush(this.#db, this.lease, push)
  }

  findRun(run_id: string, principal_id: string) {
    return findRun(this.#db, run_id, { principal_id, role: 'member', key_id: '' })
  }

  listChildren(run: { run_id: string; principal_id: string }, most: number) {
    return listChildren(this.#db, run, most)
  }

  readLastMessage(run_id: string) {
    return readLastMessage(this.#db, run_id)
  }

  hasOtherWorker(pool: string) {
    return hasOtherWorker(this.#db, { worker_id: this.lease.worker_id, pool })
  }

  touch(): void {
    this.#services.watch.touchLog(this.lease.run_id)
  }

  /** Others hear of what is written at its commit, or soon after it. */
  async #telling<T>(write: (hint: string | null) => Promise<T>): Promise<T> {
    const { run_id } = this.lease
    const { watch } = this.#services
    const hint = watch.takeHint({ logged: run_id })
    try {
      return await write(hint)
    } finally {
      if (hint === null) watch.touchLog(run_id)
    }
  }
}

/** Notes in the audit log that they are used, and opens them. `target`: what uses them. */
export async function useSecrets(
  { db, seal_key }: Pick<StoredServices, 'db' | 'seal_key'>,
  names: readonly string[],
  { target, ...use }: { target: string; run_id?: string; principal_id: string; personal: boolean },
): Promise<UsedSecret[] | { missing: string[] }> {
  if (names.length === 0) return []
  const rows = await readSecrets(db, names, use)
  const missing = names.filter((name) => !rows.some((row) => row.name === name))
  if (missing.length > 0) return { missing }
  await noteSecrets(db, { target, principal_id: use.principal_id, names })
  return rows.map((row) => ({
    name: row.name,
    value: openSecret(seal_key, row),
    version: [row.scope, row.owner_id, row.name, row.version].join(' '),
    git: row.git,
    registry: row.registry,
  }))
}
