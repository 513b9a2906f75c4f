/** How a test waits for runs: a service in the test's process announces changes, a service elsewhere is asked again and again. */
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Store } from '../../src/store/db.ts'

/** A service in this process. */
export interface RunSource {
  store: Store
  /** Calls back whenever the run may have changed. Returns how to stop. */
  onRun(run_id: string, listener: () => void): () => void
}

/** What tells nobody that it changed is looked at all the same. */
const UNHEARD_MS = 500
/** A run changes many times in a moment. */
const MOMENT_MS = 40

export interface RunChanges {
  /** Resolves when the run may have changed since the last time, or when it is time to look. */
  next(waited_ms: number): Promise<void>
  close(): void
}

export function watchRun(run_id: string, onRun: RunSource['onRun'] | undefined): RunChanges {
  // Whoever asks all the time takes the processor from what is waited for: an answer costs as much as 20 ms of a short run.
  if (!onRun) return { next: (waited_ms) => wait(Math.min(Math.max(waited_ms / 4, 80), 300)), close() {} }
  let changed = Promise.withResolvers<void>()
  const close = onRun(run_id, () => changed.resolve())
  return {
    async next() {
      const late = setTimeout(() => changed.resolve(), UNHEARD_MS)
      await Promise.all([changed.promise, wait(MOMENT_MS)])
      clearTimeout(late)
      changed = Promise.withResolvers()
    },
    close,
  }
}

export const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']

/** Whether the run is ended and its worker has let go; a fifth of what an answer of the service costs. */
export async function hasEnded({ db }: Store, run_id: string): Promise<boolean> {
  const { rows } = await sql`
    select from runs where run_id = ${run_id} and state = any(${ENDED}::text[]) and worker_id is null`.execute(
    db,
  )
  return rows.length > 0
}
