import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { isBlobKey } from '../blobs/blob-key.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Store } from '../store/db.ts'
import { readInstallation } from '../store/installation.ts'
import {
  deleteAgain,
  findUnknownNotes,
  forgetFiles,
  forgetNotes,
  giveTurnBack,
  markNoted,
  PURGE_WAITS,
  purgeLogs,
  readRemovedFiles,
  readUnnoted,
  rememberNote,
  takeTurn,
} from '../store/purge.ts'
import { type Expiry, type Retention, readExpiries, removeExpired } from '../store/retention.ts'
import type { Watch } from '../store/watch.ts'
import { deleteNote, listNotes, readNote, writeNote } from './deletion-notes.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** How often it is asked what has been kept long enough. */
const RETENTION_MS = 10 * MINUTE_MS
/** How often it is asked whether the database was restored from a backup; also at each start. */
const NOTES_MS = 60 * MINUTE_MS
/** After a fault, such as a storage that does not answer. */
const RETRY_MS = 30 * SECOND_MS
/** Each is one statement or transaction, and the service waits for none longer than for an ordinary one. */
const RUNS_AT_ONCE = 100
const EVENTS_AT_ONCE = 2_000
const FILES_AT_ONCE = 100
/** Of these at the same time, since a storage may be far. */
const FILES_BESIDE = 10
const ENTRIES_AT_ONCE = 500
/** After each part as long a rest, and half as long again: others come first. */
const REST = 1.5
const LEAST_REST_MS = 20
/** So many lists of less than a mebibyte are merged. */
const MOST_SMALL_NOTES = 64
const SMALL_NOTE_BYTES = 1024 ** 2

export interface HousekeepingLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface HousekeepingOptions {
  store: Store
  blobs: Blobs
  log: HousekeepingLog
  retention: Retention
  now?: () => number
}

/** One step, with what it has done; false: there was nothing to do. */
type Step = () => Promise<boolean>

/**
 * Removes what has been kept long enough, and behind each deletion what may be large: logs and files. Any process may run it; one
 * at a time works. What it does can be cut short anywhere and is done again.
 */
export class Housekeeping {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #log: HousekeepingLog
  readonly #retention: Retention
  readonly #now: () => number
  readonly #purger = randomUUID()
  readonly #stopping = new AbortController()
  #retention_at = Number.NEGATIVE_INFINITY
  #notes_at = Number.NEGATIVE_INFINITY
  #expiries: Array<Expiry & { removed: number }> = []
  /** Up to where removed files were gone through, and the first that could not be removed on the way. */
  #files_after = ''
  #file_fault: { error: unknown } | null = null

  constructor({ store, blobs, log, retention, now = Date.now }: HousekeepingOptions) {
    this.#store = store
    this.#blobs = blobs
    this.#log = log
    this.#retention = retention
    this.#now = now
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** Does what is due, until nothing is left; call it every ten minutes, and when something waits. */
  async look(): Promise<void> {
    const { db } = this.#store
    const installation_id = await readInstallation(this.#store.quick).catch(() => null)
    // While the database is away others say so.
    if (installation_id === null || !(await takeTurn(db, this.#purger))) return
    try {
      if (isApart(this.#notes_at, this.#now(), NOTES_MS)) {
        await this.#readNotes(installation_id)
        this.#notes_at = this.#now()
      }
      if (isApart(this.#retention_at, this.#now(), RETENTION_MS)) {
        const expiries = await readExpiries(db, this.#retention)
        this.#expiries = expiries.map((expiry) => ({ ...expiry, removed: 0 }))
        this.#retention_at = this.#now()
      }
      const faults: unknown[] = []
      // Where a list cannot be written, files go all the same: they may be what fills the disk.
      const steps: Step[] = [
        () => this.#expire(),
        () => this.#note(installation_id),
        () => this.#removeFiles(),
        () => purgeLogs(db, { runs: RUNS_AT_ONCE, events: EVENTS_AT_ONCE }),
      ]
      while (steps.length > 0 && !this.#stopping.signal.aborted) {
        if (!(await takeTurn(db, this.#purger))) return
        const worked = await this.#takeSteps(steps, faults)
        if (!worked) break
      }
      if (faults.length > 0) throw faults[0]
    } finally {
      await giveTurnBack(db, this.#purger).catch(() => {})
    }
  }

  /** One that fails is not tried again in this look, and keeps no other from its work. */
  async #takeSteps(steps: Step[], faults: unknown[]): Promise<boolean> {
    let worked = false
    for (const step of [...steps]) {
      if (this.#stopping.signal.aborted) return false
      const began = performance.now()
      const done = await step().catch((error: unknown) => {
        faults.push(error)
        steps.splice(steps.indexOf(step), 1)
        return false
      })
      if (!done) continue
      worked = true
      const rest = Math.max(LEAST_REST_MS, (performance.now() - began) * REST)
      await wait(rest, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => {})
    }
    return worked
  }

  async #expire(): Promise<boolean> {
    const [expiry] = this.#expiries
    if (!expiry) return false
    const removed = await removeExpired(this.#store.db, expiry, RUNS_AT_ONCE)
    expiry.removed += removed
    if (removed > 0) return true
    this.#expiries.shift()
    if (expiry.removed > 0) this.#log.info(expiry, 'What was kept long enough is removed.')
    return true
  }

  async #note(installation_id: string): Promise<boolean> {
    const { db } = this.#store
    const entries = await readUnnoted(db, ENTRIES_AT_ONCE)
    if (entries.length === 0) return false
    const name = await writeNote(this.#blobs, installation_id, entries)
    await markNoted(
      db,
      name,
      entries.map(({ run_id }) => run_id),
    )
    return true
  }

  async #removeFiles(): Promise<boolean> {
    const { db } = this.#store
    const files = await readRemovedFiles(db, FILES_AT_ONCE, this.#files_after)
    const last = files.at(-1)
    if (!last) {
      const fault = this.#file_fault
      this.#files_after = ''
      this.#file_fault = null
      if (fault) throw fault.error
      return false
    }
    // What another row names is that row's from now on.
    const unnamed = files.filter(({ is_named }) => !is_named).map(({ blob_key }) => blob_key)
    const failed = new Map<string, unknown>()
    // A key that the storage does not allow names no file, and would fail for ever.
    const keys = unnamed.filter(isBlobKey)
    for (let at = 0; at < keys.length; at += FILES_BESIDE) {
      const some = keys.slice(at, at + FILES_BESIDE)
      const remove = async (blob_key: string) => this.#blobs.delete(blob_key)
      for (const [place, done] of (await Promise.allSettled(some.map(remove))).entries())
        if (done.status === 'rejected') failed.set(some[place] ?? '', done.reason)
    }
    await forgetFiles(
      db,
      files.map(({ blob_key }) => blob_key).filter((blob_key) => !failed.has(blob_key)),
    )
    // Those behind one that fails come first, and it itself once all others are gone.
    this.#files_after = last.blob_key
    for (const error of failed.values()) {
      this.#file_fault ??= { error }
      // A storage that does nothing is not asked for everything.
      if (failed.size === keys.length) throw error
    }
    for (const [blob_key, error] of failed)
      this.#log.warn({ err: error, blob_key }, 'A file could not be removed; it is tried again later.')
    return true
  }

  /** Deletes again what was deleted after the backup that the database was restored from. */
  async #readNotes(installation_id: string): Promise<void> {
    const { db } = this.#store
    const notes = await listNotes(this.#blobs, installation_id)
    const unknown = await findUnknownNotes(
      db,
      notes.map(({ name }) => name),
    )
    let deleted = 0
    for (const name of unknown) {
      const entries = await readNote(this.#blobs, installation_id, name)
      for (let at = 0; at < entries.length; at += ENTRIES_AT_ONCE)
        deleted += await deleteAgain(db, entries.slice(at, at + ENTRIES_AT_ONCE))
      await rememberNote(db, name)
    }
    if (deleted > 0)
      this.#log.warn({ runs: deleted }, 'A backup brought deleted runs back: they are deleted again.')
    await this.#mergeNotes(
      installation_id,
      notes.filter(({ bytes }) => bytes < SMALL_NOTE_BYTES).map(({ name }) => name),
    )
  }

  /** A list for each deletion would be many, and all are listed at each start. */
  async #mergeNotes(installation_id: string, small: readonly string[]): Promise<void> {
    const { db } = this.#store
    for (let at = 0; at + MOST_SMALL_NOTES <= small.length; at += MOST_SMALL_NOTES) {
      const names = small.slice(at, at + MOST_SMALL_NOTES)
      const read = await Promise.all(names.map((name) => readNote(this.#blobs, installation_id, name)))
      await rememberNote(db, await writeNote(this.#blobs, installation_id, read.flat()))
      for (const name of names) await deleteNote(this.#blobs, installation_id, name)
      await forgetNotes(db, names)
    }
  }
}

/** A clock that was set back counts too. */
const isApart = (before: number, now: number, milliseconds: number): boolean =>
  Math.abs(now - before) >= milliseconds

/** Keeps house until the function it returns is called. */
export function startHousekeeping({
  watch,
  ...options
}: HousekeepingOptions & { watch: Watch }): () => Promise<void> {
  const housekeeping = new Housekeeping(options)
  const stopping = new AbortController()
  let called = new AbortController()
  const unlisten = watch.onWaiting(PURGE_WAITS, () => called.abort())
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      called = new AbortController()
      const failed = await housekeeping.look().then(
        () => false,
        (error) => {
          options.log.warn({ err: error }, 'Removing what is deleted failed; trying again.')
          return true
        },
      )
      const signal = failed ? stopping.signal : AbortSignal.any([stopping.signal, called.signal])
      await wait(failed ? RETRY_MS : RETENTION_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }
  const ended = loop()
  return async () => {
    unlisten()
    housekeeping.stop()
    stopping.abort()
    await ended
  }
}
