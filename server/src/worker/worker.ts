import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import {
  claimRuns,
  type Lease,
  readCommands,
  registerWorker,
  retireWorker,
  updateModels,
  type WorkerRegistration,
} from '../store/leases.ts'
import { executeRun } from './execute.ts'
import type { Execution, StopReason, Warden, WorkerContext } from './execution.ts'
import { reapSandboxes } from './reap.ts'

const CLAIM_POLL_MS = 1_000
const COMMAND_POLL_MS = 500
const REAP_MS = 30_000
const MODELS_MS = 5 * 60_000
/** Handing runs back takes less than a second; a database that is away must not keep the process. */
const HANDBACK_MS = 10_000

export interface WorkerHandle {
  worker_id: string
  /** Resolves when the worker was declared lost and holds nothing any more: start another, with a new id. */
  lost: Promise<void>
  /** Stops claiming, gives runs their grace, hands the rest back to the queue. */
  stop(): Promise<void>
}

export interface WorkerOptions {
  readModels: () => Promise<WorkerRegistration['models']>
  /** Starts what guards the sandboxes of this life; `onLost` ends the life. */
  openWarden: (worker_id: string, onLost: (reason: string) => void) => Warden & { close(): Promise<void> }
}

/** One life of a worker: from a registered id to its loss or stop. */
export async function startWorker(
  base: Omit<WorkerContext, 'warden'>,
  options: WorkerOptions,
): Promise<WorkerHandle> {
  const { store, watch, settings, log } = base
  const worker_id = randomUUID()
  const executions = new Map<string, Execution>()
  const closing = new AbortController()
  let models = await options.readModels()
  await registerWorker(store.db, {
    worker_id,
    pool: settings.pool,
    host_id: settings.host_id,
    slots: settings.slots,
    sandbox: base.backend.name,
    models,
  })
  const warden = options.openWarden(worker_id, (reason) => {
    log.warn({ worker_id, reason }, 'The worker lost its leases and starts anew.')
    lose()
  })
  const context: WorkerContext = { ...base, warden }

  let wake: () => void = () => {}
  const nudge = () => wake()
  const stopListening = watch.onPool(settings.pool, nudge)
  const { promise: lost, resolve: resolveLost } = Promise.withResolvers<void>()

  const start = (lease: Lease): void => {
    const execution = executeRun(context, lease)
    const stop = watch.onRun(lease.run_id, () => readOrders())
    executions.set(lease.run_id, execution)
    execution.done.then(() => {
      stop()
      if (executions.get(lease.run_id) === execution) executions.delete(lease.run_id)
      nudge()
    })
  }

  const claimLoop = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const free = settings.slots - executions.size
      const waiting = new Promise<void>((resolve) => {
        wake = resolve
      })
      let claimed: Lease[] = []
      if (free > 0) {
        try {
          claimed = await claimRuns(store.db, { worker_id, pool: settings.pool }, free)
        } catch (error) {
          log.warn({ err: error }, 'Claiming failed; trying again.')
        }
      }
      for (const lease of claimed) start(lease)
      if (claimed.length === 0 || executions.size >= settings.slots) {
        await Promise.race([
          waiting,
          wait(CLAIM_POLL_MS, undefined, { signal: closing.signal }).catch(() => {}),
        ])
      }
    }
  }

  let reading: Promise<void> | null = null
  let again = false
  /** Reads what callers want of the runs held here; calls that meet a read under way share the next one. */
  const readOrders = (): Promise<void> => {
    if (reading) {
      again = true
      return reading
    }
    reading = obey().finally(() => {
      reading = null
      if (!again) return
      again = false
      readOrders()
    })
    return reading
  }
  const obey = async (): Promise<void> => {
    if (executions.size === 0) return
    const before = [...executions.values()]
    let commands: Awaited<ReturnType<typeof readCommands>>
    try {
      commands = await readCommands(store.db, worker_id)
    } catch {
      return // The database is away; the next poll tries again.
    }
    const held = new Map(commands.map((command) => [command.run_id, command]))
    for (const execution of before) {
      const command = held.get(execution.run_id)
      if (!command || command.attempt !== execution.attempt) execution.stop('lost')
      // Cancelled, or cancelled and queued again by a follow-up: this attempt is over either way.
      else if (command.state === 'CANCELLED' || command.state === 'QUEUED') execution.stop('cancelled')
      else if (command.interrupt_attempt === execution.attempt) execution.interrupt()
    }
  }
  const every = (milliseconds: number, work: () => Promise<unknown>): NodeJS.Timeout => {
    const timer = setInterval(() => {
      work().catch((error) => log.warn({ err: error }, 'Background work of the worker failed; trying again.'))
    }, milliseconds)
    timer.unref()
    return timer
  }
  const timers = [
    every(COMMAND_POLL_MS, readOrders),
    every(REAP_MS, () => reapSandboxes(context)),
    every(MODELS_MS, async () => {
      models = await options.readModels()
      await updateModels(store.db, worker_id, models)
    }),
  ]
  const claiming = claimLoop()

  const end = async (reason: StopReason): Promise<void> => {
    closing.abort()
    stopListening()
    await claiming
    for (const execution of executions.values()) execution.stop(reason)
    await Promise.all([...executions.values()].map((execution) => execution.done))
    for (const timer of timers) clearInterval(timer)
    await warden.close()
    // Holds nothing any more: whoever sweeps need not wait for silence.
    await retireWorker(store.db, worker_id).catch(() => {})
  }

  let ending: Promise<void> | null = null
  const lose = (): void => {
    ending ??= end('lost').then(resolveLost)
  }
  return {
    worker_id,
    lost,
    stop() {
      ending ??= (async () => {
        closing.abort()
        const running = [...executions.values()].map((execution) => execution.done)
        await Promise.race([Promise.all(running), wait(settings.grace_ms, undefined, { ref: false })])
        await Promise.race([end('shutdown'), wait(HANDBACK_MS, undefined, { ref: false })])
      })()
      return ending
    },
  }
}
