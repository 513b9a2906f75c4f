import type { SandboxRef } from '../sandbox/sandbox.ts'
import { readKnownSandboxes, takeExpiredSandboxes } from '../store/sandboxes.ts'
import type { WorkerContext, WorkerSettings } from './execution.ts'

/** A sandbox younger than this may belong to a claim whose row is on its way. */
const SETTLED_MS = 60_000

/** Removes sandboxes of this host that nobody needs: idle for too long, or without a row (their run or row is gone). */
export async function reapSandboxes(
  context: Pick<WorkerContext, 'store' | 'backend' | 'log'> & {
    settings: Pick<WorkerSettings, 'host_id' | 'max_idle'>
  },
  now: () => number = Date.now,
): Promise<void> {
  const { store, backend, settings, log } = context
  const destroy = (ref: SandboxRef): Promise<void> =>
    backend.destroy(ref).catch((error) => {
      // It has no row any more, so it is found again as an orphan; the others need not wait for it.
      log.warn({ err: error, ...ref }, 'Removing a sandbox failed; trying again.')
    })
  for (const ref of await takeExpiredSandboxes(store.db, settings.host_id, settings.max_idle)) {
    if (ref.backend === backend.name) await destroy(ref)
  }
  // Listed first, rows read second: a sandbox made in between is not in the list, so it cannot be taken for an orphan.
  const listed = await backend.list()
  if (listed.length === 0) return
  const known = await readKnownSandboxes(
    store.db,
    listed.map(({ ref }) => ref.run_id),
  )
  for (const { ref, created_at } of listed) {
    const needed = known.has(`${ref.run_id}:${ref.attempt}`) || known.has(`${ref.run_id}:held`)
    if (!needed && now() - created_at > SETTLED_MS) await destroy(ref)
  }
}
