import { setTimeout as wait } from 'node:timers/promises'
import { createFaultLog } from '../store/fault-log.ts'
import type { Command } from '../store/leases.ts'
import type { Claims } from './claims.ts'
import type { WorkerContext } from './context.ts'
import type { Execution } from './execute.ts'
import type { Executions } from './executions.ts'
import { FencedStore } from './fenced-store.ts'
import { FAILED, letGo, STOPPING } from './let-go.ts'

const POLL_MS = 500
/** The same while nothing is executed: to know before a run needs it whether callers can be heard. */
const IDLE_POLL_MS = 10_000
/** Between two reads: callers may ask much. */
const PAUSE_MS = 50
/** Between two tries to give up what cannot be given up. */
const MAX_RETRY_MS = 30_000

/**
 * Hears what callers want of the runs held here, and compares what this worker holds in the database with what it executes,
 * at every look: what is held and not executed would be nobody's for ever.
 */
export class Orders {
  readonly #context: WorkerContext
  readonly #worker_id: string
  readonly #executions: Executions
  readonly #claims: Claims
  readonly #closing = new AbortController()
  readonly #faults: ReturnType<typeof createFaultLog>
  readonly #retries = new Map<string, { at: number; pause_ms: number }>()
  #timer: NodeJS.Timeout | undefined
  #stopListening: () => void = () => {}
  #reading: Promise<void> | null = null
  #again = false
  #read_at = performance.now()

  constructor(context: WorkerContext, worker_id: string, executions: Executions, claims: Claims) {
    this.#context = context
    this.#worker_id = worker_id
    this.#executions = executions
    this.#claims = claims
    this.#faults = createFaultLog(context.log, 'Reading what callers want of runs failed; trying again.')
  }

  start(): void {
    this.#timer = setInterval(() => {
      const idle_ms = performance.now() - this.#read_at
      if (this.#executions.size > 0 || idle_ms >= IDLE_POLL_MS) this.read()
    }, POLL_MS)
    this.#timer.unref()
    // While nothing is executed there is nothing to hear, unless something is held.
    this.#stopListening = this.#context.plane.hints.onHeld(this.#worker_id, () => this.read())
  }

  close(): void {
    clearInterval(this.#timer)
    this.#stopListening()
    this.#closing.abort()
  }

  /** Calls that meet a look under way share the next one. */
  read(): void {
    if (this.#reading) {
      this.#again = true
      return
    }
    this.#read_at = performance.now()
    this.#reading = this.#look()
      .catch((error) => this.#faults.say(error))
      .then(() => wait(PAUSE_MS, undefined, { ref: false }))
      .finally(() => {
        this.#reading = null
        const again = this.#again
        this.#again = false
        if (again && !this.#closing.signal.aborted) this.read()
      })
  }

  async #look(): Promise<void> {
    const executed = this.#executions.all()
    const mark = this.#claims.mark()
    const commands = await this.#context.plane.readCommands(this.#worker_id)
    this.#faults.clear()
    const held = new Map(commands.map((command) => [command.run_id, command]))
    for (const execution of executed) passOn(held.get(execution.run_id), execution)
    // Certain only if no claim was under way meanwhile.
    if (mark === null || mark !== this.#claims.mark() || this.#closing.signal.aborted) return
    for (const command of commands) if (!this.#executions.has(command.run_id)) await this.#takeInHand(command)
  }

  /** Held, and executed by nobody: adopted when no attempt was made at it, else given up. */
  async #takeInHand({ run_id, attempt, state, is_debugged }: Command): Promise<void> {
    const { log, plane } = this.#context
    const lease = { run_id, attempt, worker_id: this.#worker_id }
    const untouched = (state === 'CLAIMED' || is_debugged) && !this.#executions.isOver(lease)
    if (untouched && !this.#claims.isClosed()) {
      log.warn(lease, 'A run was claimed and the answer not heard; it is started now.')
      this.#executions.start(lease)
      return
    }
    const retry = this.#retries.get(run_id)
    if (retry && performance.now() < retry.at) return
    const signals = { writing: this.#closing.signal, owning: this.#closing.signal }
    try {
      const handover = untouched ? { reason: STOPPING, counted: false } : { reason: FAILED, counted: true }
      await letGo(this.#context, new FencedStore(plane.hold(lease), signals), handover)
      log.warn(lease, 'A run that was held and not executed is given up.')
      this.#retries.delete(run_id)
      this.#executions.forget(run_id)
    } catch (error) {
      const pause_ms = Math.min(MAX_RETRY_MS, (retry?.pause_ms ?? POLL_MS / 2) * 2)
      this.#retries.set(run_id, { at: performance.now() + pause_ms, pause_ms })
      log.error({ err: error, ...lease }, 'A run that is held and not executed cannot be given up.')
    }
  }
}

function passOn(command: Command | undefined, execution: Execution): void {
  if (!command || command.attempt !== execution.attempt) execution.stop('lost')
  // Cancelled, or cancelled and queued again by a follow-up: this attempt is over either way.
  else if (command.state === 'CANCELLED' || command.state === 'QUEUED') execution.stop('cancelled')
  else if (command.interrupt_sequence !== null) execution.interrupt(command.interrupt_sequence)
  else if (command.undelivered > 0) execution.signalWaiting()
}
