import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { AppError } from '../contract/error.ts'
import { explainFault, isTooOld, otherEncoding, placed, tooOld } from './database-fault.ts'
import type { Store } from './db.ts'
import { pendingMigrations } from './migrate.ts'

/** A database that says nothing for so long counts as away: whoever asks for the state wants to know now. */
const PATIENCE_MS = 4_000
/** Away for so long is no passing moment. */
const AWAY_MS = 2_000
const PROBE_PAUSE_MS = 250
const NOT_MIGRATED = 'PostgreSQL has no tables of this version yet: run `runyard migrate`.'

export interface DatabaseState {
  reachable: boolean
  migrated: boolean
  /** What is missing and what helps, for anybody to read; `null` when the service can work. */
  reason: string | null
  /** The same, with the address, for the operator. */
  detail: string
  /** Waiting may help. */
  passing: boolean
}

interface Gap {
  reason: string
  /** Where the reason must not hold what the operator may read. */
  detail?: string
  passing: boolean
  reachable: boolean
}

const missing = (store: Store, { reason, detail, passing, reachable }: Gap): DatabaseState => ({
  reachable,
  passing,
  migrated: false,
  reason,
  detail: store.address ? placed(detail ?? reason, store.address) : (detail ?? reason),
})

/** Whether the service can work on this database, and if not, why. Throws only what is no fault of the database. */
export async function readDatabaseState(store: Store): Promise<DatabaseState> {
  const silent = new Error('timeout')
  try {
    return await Promise.race([
      look(store),
      wait(PATIENCE_MS, undefined, { ref: false }).then(() => {
        throw silent
      }),
    ])
  } catch (error) {
    return missing(store, explain(error, store))
  }
}

async function look(store: Store): Promise<DatabaseState> {
  if (store.kind === 'postgres') {
    const { rows } = await sql<{ version: number; encoding: string }>`
      select current_setting('server_version_num')::int as version, getdatabaseencoding() as encoding`.execute(
      store.quick,
    )
    const { version = 0, encoding = '' } = rows[0] ?? {}
    const unfit = isTooOld(version) ? tooOld(version) : encoding === 'UTF8' ? null : otherEncoding(encoding)
    if (unfit) return missing(store, { reason: unfit, passing: false, reachable: true })
  }
  if ((await pendingMigrations(store.quick)) > 0)
    return missing(store, { reason: NOT_MIGRATED, passing: true, reachable: true })
  return { reachable: true, migrated: true, reason: null, detail: '', passing: true }
}

function explain(error: unknown, store: Store): Gap {
  if (error instanceof AppError) return { reason: error.detail, passing: false, reachable: true }
  const fault = store.address && explainFault(error, store.address)
  if (fault) return { ...fault, reachable: false }
  const detail = `PostgreSQL says: ${error instanceof Error ? error.message : String(error)}`
  return { reason: 'PostgreSQL refuses what is asked of it.', detail, passing: true, reachable: false }
}

/** The error a command ends with when the database does not let it work; other errors come back as they are. */
export function toOperatorError(error: unknown, store: Store): unknown {
  const fault = store.address && explainFault(error, store.address)
  if (!fault || !store.address) return error
  return databaseError(placed(fault.reason, store.address), fault.passing, error)
}

export const databaseError = (detail: string, passing: boolean, cause?: unknown): AppError =>
  new AppError(passing ? 'resource_unavailable' : 'invalid_request', detail, { cause })

/** Throws what only somebody can change, unless the database is fit for work but for its tables. */
export async function requireFit(store: Store): Promise<void> {
  const state = await readDatabaseState(store)
  if (state.reason !== null && state.reason !== NOT_MIGRATED) throw databaseError(state.detail, state.passing)
}

/**
 * Resolves when the database has not answered for two seconds or more; never once the signal is aborted, and never for the
 * embedded one, which goes where this process goes.
 */
export async function untilAway(store: Store, signal: AbortSignal): Promise<void> {
  if (store.kind === 'pglite') return new Promise(() => {})
  for (let since: number | null = null; ; ) {
    const began = performance.now()
    const answered = await answersInTime(store)
    if (signal.aborted) return new Promise(() => {})
    since = answered ? null : (since ?? began)
    if (since !== null && performance.now() - since >= AWAY_MS) return
    await wait(PROBE_PAUSE_MS, undefined, { ref: false })
  }
}

const answersInTime = (store: Store): Promise<boolean> =>
  Promise.race([
    sql`select 1`.execute(store.quick).then(
      () => true,
      () => false,
    ),
    wait(AWAY_MS, false, { ref: false }),
  ])
