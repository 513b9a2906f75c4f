import { type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import { collectArtifacts } from './collect-artifacts.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { type KeepOptions, keepChanges } from './keep-changes.ts'

/**
 * Keeps what a turn made: files of `/workspace/artifacts`, and the changes of the repositories. A sandbox that fails
 * meanwhile is tried once more, without what still runs in it. False: what the run made cannot be had. Where `mayRetry` says
 * that the run is not to end by it, the `SandboxFault` is thrown.
 */
export async function keepWork(
  context: WorkerContext,
  store: FencedStore,
  sandbox: Sandbox,
  options: KeepOptions & { mayRetry: () => boolean },
): Promise<boolean> {
  for (let tries = 1; tries <= 2; tries += 1) {
    try {
      await collectArtifacts(context, store, sandbox, options)
      await keepChanges(context, store, sandbox, options)
      return true
    } catch (error) {
      if (!(error instanceof SandboxFault) || !options.mayRetry()) throw error
      context.log.warn({ err: error, ...store.lease }, 'Keeping what the turn made failed.')
      if (tries === 1) await sandbox.killAll().catch(() => {})
    }
  }
  return false
}
