/** What `serve` and `worker` do about a database that is away, not migrated, or not fit for them. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type DatabaseState, databaseError, readDatabaseState } from './store/database-state.ts'
import type { Store } from './store/db.ts'
import { isLockTimeout, isUnavailable } from './store/faults.ts'
import { LostAtStart } from './worker/beat.ts'

const LOOK_MS = 2_000
/** While it is there, and nobody found otherwise: somebody may migrate it for a newer version. */
const REST_MS = 30_000

/** The state at the start; throws what waiting cannot change, so that the process ends and says it. */
export async function readFirstState(store: Store): Promise<DatabaseState> {
  const state = await readDatabaseState(store)
  if (state.reason !== null && !state.passing) throw databaseError(state.detail, false)
  return state
}

/**
 * Resolves when the database can be worked on. Says what it waits for, at first and when that changes. Throws what waiting
 * cannot change, and the signal's reason.
 */
export async function waitForDatabase(
  store: Store,
  { say, signal }: { say: (missing: string) => void; signal?: AbortSignal | undefined },
): Promise<void> {
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  let said: string | null = null
  for (;;) {
    const state = await Promise.race([readFirstState(store), aborted])
    if (state.reason === null) return
    if (state.reason !== said) say(state.detail)
    said = state.reason
    await Promise.race([wait(LOOK_MS), aborted])
  }
}

export type Persist = <T>(step: () => Promise<T>) => Promise<T>

/** Repeats a step of the start until the database lets it through. Throws other faults, and the signal's reason. */
export function persistWith(store: Store, options: Parameters<typeof waitForDatabase>[1]): Persist {
  const { signal } = options
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  aborted.catch(() => {})
  return async (step) => {
    for (;;) {
      try {
        return await Promise.race([step(), aborted])
      } catch (error) {
        if (signal?.aborted) throw error
        if (!isUnavailable(error) && !isLockTimeout(error) && !(error instanceof LostAtStart)) throw error
        await waitForDatabase(store, options)
      }
    }
  }
}

/** Logs when the database goes away and when it is back, each once. `look`: somebody asked it something in vain. */
export function reportDatabase(
  store: Store,
  log: Logger,
  first: string | null,
): { look(): void; stop(): void } {
  let said = first
  let timer: NodeJS.Timeout | undefined
  let looking = false
  let stopped = false
  const look = async (): Promise<void> => {
    if (looking || stopped) return
    looking = true
    clearTimeout(timer)
    const { reason, detail } = await readDatabaseState(store)
    looking = false
    if (stopped) return
    if (reason !== said) {
      if (reason === null) log.info('The database is there again.')
      else log.error(detail)
    }
    said = reason
    schedule()
  }
  const schedule = (): void => {
    timer = setTimeout(look, said === null ? REST_MS : LOOK_MS)
    timer.unref()
  }
  schedule()
  return {
    look: () => void look(),
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
