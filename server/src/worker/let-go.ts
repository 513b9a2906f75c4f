import { setTimeout as wait } from 'node:timers/promises'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'

const KILL_TRIES = 3
const KILL_PAUSE_MS = 500
/** Killing takes a second; what takes so much longer has failed. */
const KILL_LIMIT_MS = 10_000
/** Between two tries while nothing helps. */
const HELPLESS_PAUSE_MS = 5_000

/**
 * Stops everything that runs in the sandbox; resolves only once that is so, or when `lost` fires: two attempts must never
 * run at once, so until then the run is kept. Where killing fails the sandbox is removed, and failing that both are tried
 * for as long as it takes. After a loss the warden kills, and the next attempt does before it starts.
 */
export async function stopProcesses(
  sandbox: Sandbox,
  { log }: Pick<WorkerContext, 'log'>,
  lost: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const removes = tries > KILL_TRIES && tries % 2 === 0
    try {
      return await inTime(removes ? sandbox.destroy() : sandbox.killAll())
    } catch (error) {
      const told = tries < KILL_TRIES ? 'trying again' : 'the run is kept until they are gone'
      log.error({ err: error, ...sandbox.ref }, `The processes of a run could not be stopped: ${told}.`)
      if (lost.aborted) return
      const pause = tries <= KILL_TRIES ? KILL_PAUSE_MS : HELPLESS_PAUSE_MS
      await wait(pause, undefined, { signal: lost, ref: false }).catch(() => {})
    }
  }
}

async function inTime(work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no end within ${KILL_LIMIT_MS} ms`)), KILL_LIMIT_MS)
  await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}

/**
 * Gives back what an idle sandbox does not need; one that holds more than it may is removed. What fails here is done by whoever
 * removes idle sandboxes.
 */
export async function giveBack(
  sandbox: Sandbox,
  { backend, log }: Pick<WorkerContext, 'backend' | 'log'>,
  is_overfull: boolean,
): Promise<void> {
  const { ref } = sandbox
  try {
    if (is_overfull) await sandbox.destroy()
    else await backend.release?.(ref)
  } catch (err) {
    const what = is_overfull
      ? 'The sandbox could not be removed.'
      : 'What an idle sandbox does not need could not be given back.'
    log[is_overfull ? 'error' : 'warn']({ err, ...ref }, what)
  }
}

/** Why a run goes back to the queue. */
export const FAILED = 'The attempt failed and its end could not be recorded.'
export const STOPPING = 'The worker is stopping.'

/**
 * Gives the run up, its processes being stopped. One still at work as far as anybody can read goes back to the queue;
 * `counted` says that it failed here, see `requeueRun`.
 */
export async function letGo(
  { settings }: Pick<WorkerContext, 'settings'>,
  store: FencedStore,
  handover: { reason: string; counted: boolean },
): Promise<void> {
  const { released } = await store.release()
  if (!released) await store.requeue(handover.reason, handover.counted, settings.pool)
}
