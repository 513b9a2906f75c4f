import type { Lease } from '../store/leases.ts'
import type { WorkerContext } from './context.ts'
import { Execution } from './execute.ts'
import type { ExecutionHooks } from './execution-hooks.ts'
import type { StopReason } from './stopping.ts'

interface Hooks extends ExecutionHooks {
  /** A caller wants something of one of the runs, perhaps. */
  onOrder: () => void
  onEnd: () => void
}

/** The runs in this worker's hands. */
export class Executions {
  readonly #context: WorkerContext
  readonly #living = new Map<string, Execution>()
  /** Over, and still this worker's as far as the database knows. */
  readonly #unreleased = new Map<string, number>()
  readonly #hooks: Hooks

  constructor(context: WorkerContext, hooks: Hooks) {
    this.#context = context
    this.#hooks = hooks
  }

  get size(): number {
    return this.#living.size
  }

  /** Slots that are taken. Workspaces of cancelled runs are packed beside them, as many at once as there are slots. */
  get slots_taken(): number {
    const packing = this.all().filter((execution) => execution.packing).length
    return this.#living.size - Math.min(packing, this.#context.settings.slots)
  }

  start(lease: Lease): void {
    const execution = new Execution(this.#context, lease, this.#hooks)
    const stopListening = this.#context.plane.hints.onOrder(lease.run_id, this.#hooks.onOrder)
    this.#living.set(lease.run_id, execution)
    this.#unreleased.delete(lease.run_id)
    execution.done.then((released) => {
      stopListening()
      if (!released) this.#unreleased.set(lease.run_id, lease.attempt)
      // Queued and claimed again already, perhaps.
      if (this.#living.get(lease.run_id) === execution) this.#living.delete(lease.run_id)
      this.#hooks.onEnd()
    })
  }

  all(): Execution[] {
    return [...this.#living.values()]
  }

  has(run_id: string): boolean {
    return this.#living.has(run_id)
  }

  /** Whether this attempt was executed here: its processes are stopped, and it must not be started again. */
  isOver({ run_id, attempt }: Pick<Lease, 'run_id' | 'attempt'>): boolean {
    return this.#unreleased.get(run_id) === attempt
  }

  forget(run_id: string): void {
    this.#unreleased.delete(run_id)
  }

  drain(): void {
    for (const execution of this.#living.values()) execution.drain()
  }

  stop(reason: StopReason): void {
    for (const execution of this.#living.values()) execution.stop(reason)
  }

  async ended(): Promise<void> {
    await Promise.all(this.all().map((execution) => execution.done))
  }
}
