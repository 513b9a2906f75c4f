import { setTimeout as wait } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { ArchiveTooLarge } from '../archives/archive-check.ts'
import { BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import type { NewEvent } from '../contract/event.ts'
import { type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import type { SnapshotRow } from '../store/snapshots.ts'
import type { WorkspaceEnd } from '../store/turn-ends.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { LeaseLost } from './lease-lost.ts'
import type { Workspace } from './prepare.ts'
import type { SandboxGate } from './sandbox-gate.ts'
import { EXPANSION, limitsOfArchive, packWorkspace } from './workspace-archive.ts'
import { lookForChanges } from './workspace-changes.ts'

/** Commands stand still so long at the most. */
const HOLD_MS = 10_000
/** Packing may cost a tenth of the time. */
const SHARE = 10
/** After so many rounds in which it was too large a workspace is not tried more rarely. */
const MAX_BACKOFF = 16

export interface SnapshotsOptions {
  context: WorkerContext
  store: FencedStore
  gate: SandboxGate
  /** The sandbox itself, past the gate. */
  sandbox: Sandbox
  workspace: Pick<Workspace, 'commits' | 'image' | 'known'>
  emit: (event: NewEvent) => Promise<void>
  /** Waits until everything emitted is committed. */
  drain: () => Promise<void>
  /** Aborted when nothing more is to be written. */
  signal: AbortSignal
}

/** Keeps what the workspace of one execution holds, so that the run can go on elsewhere. */
export class Snapshots {
  readonly #options: SnapshotsOptions
  readonly #sandbox: Sandbox
  /** What is kept and still is what the workspace held at `#stamp`. */
  #latest: Pick<SnapshotRow, 'snapshot_id' | 'sequence'> | null
  #stamp: string | null
  /** Whether there is a snapshot of what the workspace holds, or it is as it was prepared. */
  #standing: 'kept' | 'pristine' | 'unkept'
  #tail: Promise<unknown> = Promise.resolve()
  #turn: AbortController | null = null
  #took_ms = 0
  #backoff = 1

  constructor(options: SnapshotsOptions) {
    this.#options = options
    this.#sandbox = options.sandbox
    this.#latest = options.workspace.known.snapshot
    this.#stamp = options.workspace.known.stamp
    const is_new = this.#latest === null && options.store.lease.attempt === 1
    this.#standing = this.#latest ? 'kept' : is_new ? 'pristine' : 'unkept'
  }

  /** Looks from time to time from here on, until `endTurn`. */
  beginTurn(): void {
    const { every_ms, max_bytes } = this.#settings
    if (max_bytes === 0) return
    const turn = new AbortController()
    this.#turn = turn
    const loop = async (): Promise<void> => {
      while (!turn.signal.aborted) {
        const pause = Math.max(every_ms * this.#backoff, this.#took_ms * SHARE)
        await wait(pause, undefined, { signal: turn.signal, ref: false })
        await this.#inTurn(() => this.#keep(false))
      }
    }
    // Its end, or the loss of the lease, which the turn meets as well.
    loop().catch(() => {})
  }

  endTurn(): void {
    this.#turn?.abort()
    this.#turn = null
  }

  /**
   * Keeps what the turn left, if that is not kept yet. `worked`: something was done in the sandbox since the last time. What
   * cannot be kept fails nothing: an `error` event says so, once while it stays so.
   */
  keep(worked: boolean): Promise<void> {
    if (this.#settings.max_bytes === 0) {
      if (worked) this.#standing = 'unkept'
      return Promise.resolve()
    }
    return this.#inTurn(() => (worked ? this.#keep(true) : this.#confirm()))
  }

  /** The same at the end of a turn, which the caller has to record with what was kept last. */
  async keepTurn(worked: boolean): Promise<WorkspaceEnd> {
    await this.keep(worked)
    if (this.#standing !== 'kept') return this.#standing
    return this.#latest ? { snapshot_id: this.#latest.snapshot_id } : 'unkept'
  }

  /** What the execution before left is not asked for any more, once this one has ended. */
  async removeOlder(): Promise<void> {
    if (!this.#latest) return
    // What is not removed now is when the next one is stored.
    await this.#options.store.removeOlderSnapshots(this.#settings.turns).then(
      (removed) => this.#discard(removed),
      () => {},
    )
  }

  get #settings(): { max_bytes: number; every_ms: number; turns: number } {
    return this.#options.context.settings.snapshots
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const next = this.#tail.then(work, work)
    this.#tail = next.catch(() => {})
    return next
  }

  async #keep(is_end: boolean): Promise<void> {
    const { context, store, signal } = this.#options
    if (signal.aborted) return
    const began = performance.now()
    try {
      await this.#keepChanges(is_end)
    } catch (error) {
      if (error instanceof LeaseLost || signal.aborted) return
      if (error instanceof ArchiveTooLarge) {
        this.#backoff = Math.min(MAX_BACKOFF, this.#backoff * 2)
        await this.#tell(error)
      } else if (error instanceof BlobsUnavailable) await this.#tell(error)
      else if (error instanceof SandboxFault) {
        context.log.warn({ err: error, ...store.lease }, 'Packing a workspace failed.')
        if (is_end) await this.#tell(error)
      } else {
        context.log.error({ err: error, ...store.lease }, 'Keeping a workspace failed.')
        if (is_end) await this.#tell(error)
      }
    } finally {
      this.#took_ms = performance.now() - began
    }
  }

  async #keepChanges(is_end: boolean): Promise<void> {
    if (await this.#sandbox.isUntouched?.()) {
      if (!this.#latest) this.#standing = 'pristine'
      return
    }
    const before = this.#standing
    this.#standing = 'unkept'
    const { changed, stamp } = await lookForChanges(this.#sandbox, {
      since: this.#stamp,
      signal: this.#options.signal,
    })
    // An archive cannot be read twice: after a cut it is packed anew.
    if (changed) await this.#options.store.passing(() => this.#take(stamp))
    else {
      this.#standing = before
      if (is_end) await this.#confirm()
    }
  }

  async #take(stamp: string | null): Promise<void> {
    const { context, store, workspace, signal } = this.#options
    const { max_bytes } = this.#settings
    const snapshot_id = uuidv7()
    const name = `${store.lease.attempt}-${snapshot_id}`
    const blob_key = `runs/${store.lease.run_id}/snapshots/${name}`
    const index_blob_key = `runs/${store.lease.run_id}/indexes/${name}`
    const still = await this.#hold()
    try {
      // Committed: what a call did that ended by then is in the files.
      await this.#options.drain()
      const moment = await store.readMoment()
      const { archive, said } = await packWorkspace(this.#sandbox, context.plane.blobs, {
        blob_key,
        index_key: index_blob_key,
        limits: limitsOfArchive(max_bytes),
        signal,
        onRead: () => still.end(),
      })
      if (said) context.log.info({ ...store.lease, said }, 'What a workspace holds was not kept to the last.')
      const { commits, image } = workspace
      const row = {
        ...{ snapshot_id, commits, stamp, ...moment, ...archive, index_blob_key },
        ...{ backend: context.backend.name, sandbox_id: this.#sandbox.ref.id, image: image ?? null },
      }
      // Says nothing about what was stored and not heard of; the clean-up knows.
      const removed = await store.insertSnapshot(row, this.#settings.turns).catch(async (error) => {
        if (error instanceof LeaseLost) await this.#discard([blob_key, index_blob_key])
        throw error
      })
      this.#latest = row
      this.#standing = 'kept'
      this.#stamp = stamp
      this.#backoff = 1
      await this.#discard(removed)
    } finally {
      await still.end()
    }
  }

  async #confirm(): Promise<void> {
    if (this.#latest) await this.#options.store.confirmSnapshot(this.#latest.snapshot_id)
  }

  /** Nothing begins and nothing goes on until its `end`, which comes by itself in time. */
  async #hold(): Promise<{ end: () => Promise<void> }> {
    const open = this.#options.gate.close()
    const release = await this.#sandbox.hold().catch((error) => {
      open()
      throw error
    })
    let ended: Promise<void> | null = null
    const end = (): Promise<void> => {
      clearTimeout(timer)
      ended ??= release().finally(open)
      return ended
    }
    const timer = setTimeout(() => end().catch(() => {}), HOLD_MS)
    return { end }
  }

  async #discard(blob_keys: readonly string[]): Promise<void> {
    for (const blob_key of blob_keys) await discardBlob(this.#options.context.plane.blobs, blob_key)
  }

  /** Once: the log is asked whether it was said since the last snapshot. */
  async #tell(error: unknown): Promise<void> {
    const data = describe(error, this.#settings.max_bytes)
    const history = await this.#options.store.readHistory()
    const since = this.#latest?.sequence ?? 0
    const is_told = history.some(
      (event) => event.type === 'error' && event.sequence > since && event.data.message === data.message,
    )
    if (!is_told) await this.#options.emit({ type: 'error', data })
  }
}

const MEANS =
  'A follow-up finds it as long as this machine keeps the sandbox, and otherwise what was kept before.'

function describe(error: unknown, max_bytes: number): Extract<NewEvent, { type: 'error' }>['data'] {
  if (error instanceof ArchiveTooLarge) {
    const limit = `a snapshot may take up ${max_bytes / 1024 ** 2} MiB, and ${EXPANSION} times that unpacked (RUNYARD_MAX_SNAPSHOT_MB)`
    return {
      error_code: 'budget_exceeded',
      message: `The workspace was not kept: ${error.message}; ${limit}. ${MEANS}`,
      retryable: false,
    }
  }
  let why = ' It could not be stored; the log of the service has the cause.'
  if (error instanceof BlobsUnavailable) why = ` ${error.message}`
  else if (error instanceof SandboxFault) why = ' The sandbox failed while it was packed.'
  return {
    error_code: 'resource_unavailable',
    message: `The workspace was not kept.${why} ${MEANS}`,
    retryable: true,
  }
}
