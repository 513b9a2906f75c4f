import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { untilAway } from '../store/database-state.ts'
import { type Command, claimRuns, type Lease, readCommands } from '../store/leases.ts'
import {
  registerWorker,
  retireWorker,
  sessionName,
  updateModels,
  type WorkerRegistration,
} from '../store/workers.ts'
import { executeRun } from './execute.ts'
import type { Execution, StopReason, Warden, WorkerContext } from './execution.ts'
import { reapSandboxes } from './reap.ts'

const CLAIM_POLL_MS = 1_000
const COMMAND_POLL_MS = 500
/** Between two reads of orders: each event that is written gives a hint to read them, ours too. */
const ORDERS_PAUSE_MS = 50
const REAP_MS = 30_000
/** An unheard claim may still be committed for so long: the statement timeout. */
const DOUBT_MS = 60_000
const MODELS_MS = 5 * 60_000
/** Handing runs back takes less than a second; a database that is away must not keep the process. */
const HANDBACK_MS = 10_000
/** The same once it is known to be away: what is on its way may still end. Container engines kill after ten seconds. */
const AWAY_HANDBACK_MS = 1_000

export interface WorkerHandle {
  worker_id: string
  /** Resolves when the worker was declared lost and holds nothing any more: start another, with a new id. */
  lost: Promise<void>
  /** Claims nothing more, and hands each run back at its next step boundary. Returns at once. */
  drain(): void
  /** Stops claiming, gives runs their grace, hands the rest back to the queue. */
  stop(): Promise<void>
}

export interface WorkerOptions {
  readModels: () => Promise<WorkerRegistration['models']>
  /** Starts what guards the sandboxes of this life; `onLost` ends the life. */
  openWarden: (
    worker_id: string,
    onLost: (reason: string) => void,
  ) => Promise<Warden & { close(): Promise<void> }>
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
  store.nameSessions(sessionName(worker_id))
  await registerWorker(store.db, {
    worker_id,
    pool: settings.pool,
    host_id: settings.host_id,
    slots: settings.slots,
    sandbox: base.backend.name,
    models,
  })
  const warden = await options.openWarden(worker_id, (reason) => {
    log.warn({ worker_id, reason }, 'The worker lost its leases and starts anew.')
    lose()
  })
  const context: WorkerContext = { ...base, warden }
  log.info({ worker_id, pool: settings.pool, slots: settings.slots }, 'The worker is at work.')

  let wake: () => void = () => {}
  const nudge = () => wake()
  const stopListening = watch.onPool(settings.pool, nudge)
  const { promise: lost, resolve: resolveLost } = Promise.withResolvers<void>()

  let ended_since_reap = 0
  let reaping: Promise<void> | null = null
  const reap = (): Promise<void> => {
    ended_since_reap = 0
    reaping ??= reapSandboxes(context).finally(() => {
      reaping = null
    })
    return reaping
  }

  const start = (lease: Lease): void => {
    const execution = executeRun(context, lease)
    const stop = watch.onRun(lease.run_id, () => readOrders())
    executions.set(lease.run_id, execution)
    execution.done.then(() => {
      stop()
      if (executions.get(lease.run_id) === execution) executions.delete(lease.run_id)
      nudge()
      ended_since_reap += 1
      // Many short runs leave more idle sandboxes between two looks than may be kept.
      if (ended_since_reap > Math.max(settings.max_idle, settings.slots)) inBackground(reap)
    })
  }

  let claiming_now = false
  let claims = 0
  let doubtful_until = 0
  const claim = async (n: number): Promise<number> => {
    claiming_now = true
    claims += 1
    try {
      const claimed = await claimRuns(store.db, { worker_id, pool: settings.pool }, n)
      for (const lease of claimed) start(lease)
      return claimed.length
    } catch (error) {
      doubtful_until = performance.now() + DOUBT_MS
      log.warn({ err: error }, 'Claiming failed; trying again.')
      return 0
    } finally {
      claiming_now = false
    }
  }

  let full = false
  const claimLoop = async (): Promise<void> => {
    while (!closing.signal.aborted) {
      const free = settings.slots - executions.size
      const waiting = new Promise<void>((resolve) => {
        wake = resolve
      })
      const room = await base.disk.hasRoom()
      // Workspaces that only wait for follow-ups must not keep new runs waiting.
      if (!room && !full) inBackground(reap)
      full = !room
      const claimed = free > 0 && room ? await claim(free) : 0
      if (claimed === 0 || executions.size >= settings.slots) {
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
    const pause = () => wait(ORDERS_PAUSE_MS, undefined, { ref: false })
    reading = obey()
      .then(pause)
      .finally(() => {
        reading = null
        if (!again) return
        again = false
        readOrders()
      })
    return reading
  }
  const obey = async (): Promise<void> => {
    const doubtful = performance.now() < doubtful_until
    if (executions.size === 0 && !doubtful) return
    const before = [...executions.values()]
    const quiet_since = claiming_now ? null : claims
    let commands: Command[]
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
      else if (command.interrupt_sequence !== null) execution.interrupt(command.interrupt_sequence)
    }
    // Certain only if no claim was under way while we read.
    if (doubtful && quiet_since === claims && !closing.signal.aborted) {
      const known = new Set(before.map((execution) => execution.run_id))
      startUnheard(commands.filter((command) => !known.has(command.run_id)))
    }
  }
  /** Claims that were committed and whose answer was not heard: the runs are ours and nobody executes them. */
  const startUnheard = (commands: Command[]): void => {
    for (const { run_id, attempt, state } of commands) {
      if (state !== 'CLAIMED') continue
      log.warn({ run_id, attempt }, 'A claimed run was found after an outage and is started.')
      start({ run_id, attempt, worker_id })
    }
  }
  const inBackground = (work: () => Promise<unknown>): void => {
    work().catch((error) => log.warn({ err: error }, 'Background work of the worker failed; trying again.'))
  }
  const every = (milliseconds: number, work: () => Promise<unknown>): NodeJS.Timeout => {
    const timer = setInterval(() => inBackground(work), milliseconds)
    timer.unref()
    return timer
  }
  const timers = [
    every(COMMAND_POLL_MS, readOrders),
    every(REAP_MS, reap),
    every(MODELS_MS, async () => {
      models = await options.readModels()
      await updateModels(store.db, worker_id, models)
    }),
  ]
  const claiming = claimLoop()

  const end = async (reason: StopReason): Promise<void> => {
    closing.abort()
    stopListening()
    const stopAll = () => {
      for (const execution of executions.values()) execution.stop(reason)
    }
    stopAll()
    // A claim under way may bring more.
    await claiming
    stopAll()
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
  const drain = (): void => {
    closing.abort()
    for (const execution of executions.values()) execution.drain()
  }
  return {
    worker_id,
    lost,
    drain,
    stop() {
      ending ??= (async () => {
        drain()
        const running = [...executions.values()].map((execution) => execution.done)
        const stopped = new AbortController()
        // No run reaches a step boundary without the database, and nothing can be handed back: others take the runs over.
        const away = untilAway(store, stopped.signal)
        const pause = (milliseconds: number) => wait(milliseconds, undefined, { ref: false })
        await Promise.race([Promise.all(running), pause(settings.grace_ms), away])
        await Promise.race([end('shutdown'), pause(HANDBACK_MS), away.then(() => pause(AWAY_HANDBACK_MS))])
        stopped.abort()
      })()
      return ending
    },
  }
}
