import { setTimeout as wait } from 'node:timers/promises'
import { type BlobInfo, type Blobs, BlobsFull } from '../blobs/blobs.ts'
import { removeOldAudit } from '../store/audit-log.ts'
import { readNamedBlobs } from '../store/blob-keys.ts'
import type { Store } from '../store/db.ts'
import { removeOldLogins } from '../store/device-logins.ts'
import { removeOldKeys } from '../store/idempotency.ts'
import { readInstallation } from '../store/installation.ts'
import { removeExpiredPrepared } from '../store/prepared-attachments.ts'
import { removeOldCounts } from '../store/request-counts.ts'
import { removeOldSignInLinks } from '../store/sign-in-links.ts'
import { maintainTables } from '../store/table-upkeep.ts'
import { removeOldTriggerDeliveries } from '../store/trigger-deliveries.ts'
import { removeOldVisits } from '../store/visits.ts'
import { removeOldWebSessions } from '../store/web-sessions.ts'
import { removeOldDeliveries } from '../store/webhook-deliveries.ts'
import { removeOldWorkers } from '../store/workers.ts'
import { type OwnerNote, readOwners, writeNote } from './blob-owners.ts'
import type { HousekeepingLog } from './housekeeping.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const LOOK_MS = MINUTE_MS
const ROWS_MS = 10 * MINUTE_MS
const BLOBS_MS = HOUR_MS
/** Where blobs are that rows name. */
const FOLDERS = ['runs', 'prepared']
/** A blob is put before its row is written, which takes seconds while the database answers. */
const AGE_MS = 24 * HOUR_MS
/**
 * The database must have answered for so long. After an outage, however long, a worker that still has its lease writes the
 * rows that it could not write within seconds, and one that has not is refused.
 */
const SETTLED_MS = 10 * MINUTE_MS
/** So long between two answers, and the database or this process was away meanwhile. */
const GAP_MS = 3 * MINUTE_MS
const ASKED_AT_ONCE = 500

export interface CleanUpOptions {
  store: Store
  blobs: Blobs
  log: HousekeepingLog
  /** Entries of the audit log older than so many days are removed. */
  audit_days: number
  now?: () => number
}

/**
 * Removes what nobody asks for any more: old idempotency keys, rows of old workers, links and sessions of the page that are over,
 * old deliveries, old entries of the audit log, and blobs that no row names, because their process was killed or lost its lease
 * before it wrote one. Maintains the tables of an embedded database. Any process may run it, several may at once.
 */
export class CleanUp {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #log: HousekeepingLog
  readonly #audit_days: number
  readonly #now: () => number
  #stopped = false
  #answered_at = Number.NEGATIVE_INFINITY
  #answering_since = 0
  #rows_at = Number.NEGATIVE_INFINITY
  #blobs_at: number | null = null
  #told_of_others = false

  constructor({ store, blobs, log, audit_days, now = Date.now }: CleanUpOptions) {
    this.#store = store
    this.#blobs = blobs
    this.#log = log
    this.#audit_days = audit_days
    this.#now = now
  }

  stop(): void {
    this.#stopped = true
  }

  /** Does what is due; call it every minute. */
  async look(): Promise<void> {
    const installation_id = await this.#readInstallation()
    if (installation_id === null) return
    await maintainTables(this.#store).catch((error) =>
      this.#log.warn({ err: error }, 'Maintaining the tables of the embedded database failed; trying again.'),
    )
    const now = this.#now()
    if (isApart(this.#rows_at, now, ROWS_MS)) {
      this.#rows_at = now
      await this.#removeRows()
    }
    // From the first look on, long before files are removed: what others find here is then known not to be theirs.
    const owners = await readOwners(this.#blobs, installation_id, now).catch((error) => {
      // No note, no files of ours either; that the disk is full others say.
      if (error instanceof BlobsFull) return null
      throw error
    })
    if (!owners) return
    const due = [this.#blobs_at, owners.own.cleaned_at].every(
      (at) => at === null || isApart(at, now, BLOBS_MS),
    )
    if (!due || now - this.#answering_since < SETTLED_MS) return
    if (owners.others.length > 0) return this.#tellOfOthers(owners.others)
    this.#blobs_at = now
    await this.#cleanBlobs(installation_id, owners.own, now)
  }

  /** One kind that cannot be removed is no reason to keep the others. */
  async #removeRows(): Promise<void> {
    const { db } = this.#store
    const removals: Record<string, () => Promise<unknown>> = {
      'idempotency keys': () => removeOldKeys(db),
      counts: () => removeOldCounts(db),
      workers: () => removeOldWorkers(db),
      logins: () => removeOldLogins(db),
      'sign-in links': () => removeOldSignInLinks(db),
      sessions: () => removeOldWebSessions(db),
      visits: () => removeOldVisits(db),
      'prepared attachments': () => removeExpiredPrepared(db),
      "webhooks' deliveries": () => removeOldDeliveries(db),
      "triggers' deliveries": () => removeOldTriggerDeliveries(db),
      'audit entries': () => removeOldAudit(db, this.#audit_days),
    }
    for (const [what, remove] of Object.entries(removals))
      await remove().catch((error) =>
        this.#log.warn({ err: error }, `Removing old ${what} failed; trying again.`),
      )
  }

  /** `null` while the database does not answer. */
  async #readInstallation(): Promise<string | null> {
    const installation_id = await readInstallation(this.#store.quick).catch(() => null)
    const now = this.#now()
    if (isApart(this.#answered_at, now, GAP_MS)) this.#answering_since = now
    this.#answered_at = installation_id === null ? Number.NEGATIVE_INFINITY : now
    return installation_id
  }

  async #cleanBlobs(installation_id: string, own: OwnerNote, now: number): Promise<void> {
    await writeNote(this.#blobs, installation_id, { ...own, cleaned_at: now }).catch((error) => {
      // The note only spares others the work, and a full disk needs it most.
      if (!(error instanceof BlobsFull)) throw error
    })
    const removed = { files: 0, bytes: 0 }
    const stuck: { files: number; err?: unknown } = { files: 0 }
    const remove = async (found: readonly BlobInfo[]): Promise<void> => {
      const named = await readNamedBlobs(
        this.#store.db,
        found.map(({ key }) => key),
      )
      for (const { key, bytes = 0 } of found) {
        if (named.has(key) || this.#stopped) continue
        const fault = await this.#blobs.delete(key).then(
          () => null,
          (err: unknown) => ({ err }),
        )
        if (fault) {
          // The others need not wait for it.
          Object.assign(stuck, fault, { files: stuck.files + 1 })
          continue
        }
        removed.files += 1
        removed.bytes += bytes
      }
    }
    let old: BlobInfo[] = []
    for (const folder of FOLDERS)
      for await (const blob of this.#blobs.list(folder)) {
        if (this.#stopped) return
        // By the time at which the database was known to answer, however long this takes.
        if (blob.modified_at >= own.since && now - blob.modified_at >= AGE_MS) old.push(blob)
        if (old.length < ASKED_AT_ONCE) continue
        await remove(old)
        old = []
      }
    await remove(old)
    if (stuck.files > 0) this.#log.warn(stuck, 'Files that no run names could not be removed; trying again.')
    if (removed.files > 0) this.#log.info(removed, 'Files that no run names were removed.')
  }

  #tellOfOthers(others: readonly string[]): void {
    if (this.#told_of_others) return
    this.#told_of_others = true
    this.#log.warn(
      { others },
      'Another installation keeps files in the same place, so files that no run names are not removed. Give each a data directory, or a prefix of its own; where the other one is gone for good, remove its note (blobs/owners in the data directory, owners on S3).',
    )
  }
}

/** A clock that was set back counts too. */
const isApart = (before: number, now: number, milliseconds: number): boolean =>
  Math.abs(now - before) >= milliseconds

/** Cleans up until the function it returns is called. */
export function startCleanUp(options: CleanUpOptions): () => Promise<void> {
  const cleanUp = new CleanUp(options)
  const stopping = new AbortController()
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await cleanUp.look().catch((error) => {
        options.log.warn({ err: error }, 'Cleaning up failed; trying again.')
      })
      await wait(LOOK_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  const ended = loop()
  return async () => {
    cleanUp.stop()
    stopping.abort()
    await ended
  }
}
