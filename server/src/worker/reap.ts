import type { SandboxBackend, SandboxRef } from '../sandbox/sandbox.ts'
import type { WorkerContext, WorkerSettings } from './context.ts'
import { runOfExport } from './repository-export.ts'
import { workerOfWarm } from './warm-sandboxes.ts'

/** A sandbox younger than this may belong to a claim whose row is on its way. */
const SETTLED_MS = 60_000

/**
 * Removes sandboxes that this worker can reach and nobody needs: idle for too long, or without a row (their run or row is
 * gone). While the disk has too little room, idle ones go before their time, those that end first before the others.
 */
export async function reapSandboxes(
  context: Pick<WorkerContext, 'plane' | 'backend' | 'log' | 'disk'> & {
    worker_id: string
    settings: Pick<WorkerSettings, 'max_idle'>
  },
  former_backends: readonly SandboxBackend[],
  now: () => number = Date.now,
): Promise<void> {
  const { plane, worker_id, settings, log, disk } = context
  const backends = [context.backend, ...former_backends]
  /** One that cannot be looked at, an engine that is down, keeps no other from it. */
  const onEach = async (work: (backend: SandboxBackend) => Promise<void>): Promise<void> => {
    for (const backend of backends)
      await work(backend).catch((error) =>
        log.warn({ err: error, sandbox: backend.name }, 'Removing old sandboxes failed; trying again.'),
      )
  }
  const destroy = (backend: SandboxBackend, ref: SandboxRef): Promise<void> =>
    backend.destroy(ref).catch((error) => {
      // It has no row any more, so it is found again as an orphan; the others need not wait for it.
      log.warn({ err: error, ...ref }, 'Removing a sandbox failed; trying again.')
    })
  for (let keep = settings.max_idle; ; keep = Math.floor(keep / 2)) {
    await onEach(async (backend) => {
      // Of what an earlier choice left nothing more is added, so its own idle time is limit enough.
      const most = backend === context.backend ? keep : settings.max_idle
      for (const ref of await plane.takeExpiredSandboxes(worker_id, backend.place, most))
        await destroy(backend, ref)
    })
    if (keep === 0 || (await disk.hasRoom())) break
  }
  await onEach(async (backend) => {
    await removeOrphans(context, backend, destroy, now)
    const leftovers = (await backend.removeLeftovers?.()) ?? 0
    if (leftovers > 0) log.info({ sandbox: backend.name, leftovers }, 'What killed workers left was removed.')
  })
}

/** Of what stays, only what an attempt executes may have processes: the worker of another may have been killed. */
async function removeOrphans(
  { plane, worker_id, log }: Pick<WorkerContext, 'plane' | 'log'> & { worker_id: string },
  backend: SandboxBackend,
  destroy: (backend: SandboxBackend, ref: SandboxRef) => Promise<void>,
  now: () => number,
): Promise<void> {
  // Listed first, rows read second: a sandbox made in between is not in the list, so it cannot be taken for an orphan.
  const listed = await backend.list()
  if (listed.length === 0) return
  const found = listed.map((info) => {
    const run_id = runOfExport(info.ref.run_id)
    return {
      ...{ ...info, run_id: run_id ?? info.ref.run_id, exports: run_id !== null },
      // Adopted it is a run's, and has a row.
      keeper: info.ref.attempt === 0 ? workerOfWarm(info.ref.run_id) : null,
    }
  })
  const owners = await plane.readSandboxOwners(
    worker_id,
    found.map(({ run_id }) => run_id),
  )
  const keepers = found.flatMap(({ keeper }) => keeper ?? [])
  const living = keepers.length > 0 ? await plane.findLivingWorkers(worker_id, keepers) : new Set()
  for (const { ref, created_at, run_id, exports, keeper } of found) {
    const { place = null, id = null, held = null } = owners.get(run_id) ?? {}
    if (keeper !== null && living.has(keeper)) continue
    // An export lasts as long as the attempt that began it at the most. What a run has elsewhere now says nothing of here. Nor
    // does the attempt in the list: that of the row's sandbox may be an older one, whose container was removed, or a later one
    // that did not come to its row.
    const needed = exports
      ? held === ref.attempt
      : (id === ref.id && place === backend.place) || held !== null
    if (needed && !exports && held !== ref.attempt)
      await backend.release?.(ref)?.catch((error) => {
        log.warn({ err: error, ...ref }, 'Stopping an idle sandbox failed; trying again.')
      })
    if (!needed && now() - created_at > SETTLED_MS) await destroy(backend, ref)
  }
}
