import { setTimeout as wait } from 'node:timers/promises'
import type { Outcome } from '../harness/harness.ts'
import type { ExecExit, Sandbox, SandboxLimits } from '../sandbox/sandbox.ts'
import type { WorkerContext } from './context.ts'
import { giveBack } from './let-go.ts'
import { judgeDeaths } from './sandbox-deaths.ts'
import { SandboxGate } from './sandbox-gate.ts'
import type { Stopping } from './stopping.ts'

/** A signal that was sent to all processes of the service may be heard here a moment after a command died of it. */
export const SIGNAL_MS = 100

interface HeldSandboxOptions {
  context: WorkerContext
  stopping: Stopping
  /** The worker is to hand its runs back. */
  isDraining: () => boolean
  /** The service is being stopped, and the run is handed back now. */
  handBack: () => void
}

/** The sandbox of an execution, from when it is made until it is given back: the warden and the disk's watch look after it. */
export class HeldSandbox {
  readonly gate = new SandboxGate()
  /** How the run ends because its sandbox holds more than it may. */
  overfull: Outcome | null = null
  readonly #options: HeldSandboxOptions
  #made: Sandbox | null = null
  #disk_watch: { close(): void } | null = null

  constructor(options: HeldSandboxOptions) {
    this.#options = options
  }

  get made(): Sandbox | null {
    return this.#made
  }

  /** Watches over the sandbox from here on; returns what is used in its place. */
  adopt(made: Sandbox, limits: SandboxLimits): Sandbox {
    const { context, stopping } = this.#options
    // There may have been another one, into which a snapshot could not be unpacked.
    this.#disk_watch?.close()
    this.#made = made
    context.warden.watch(made.ref)
    this.#disk_watch = context.disk.watch(made, limits, (outcome) => {
      this.overfull = outcome
      stopping.stop('overfull')
      this.killAll()
    })
    return judgeDeaths(this.gate.guard(made), (exit) => this.#diedOfStopping(exit))
  }

  /** Harnesses obey their signal; this does not depend on it. */
  killAll(): void {
    this.#made?.killAll().catch(() => {})
  }

  async giveBack(): Promise<void> {
    const { context } = this.#options
    if (!this.#made) return
    await giveBack(this.#made, context, this.overfull !== null)
    context.warden.unwatch(this.#made.ref)
    this.#disk_watch?.close()
  }

  /**
   * Whether a command died because the service is being stopped: systemd and container engines send their signal to every
   * process. Then the run is handed back, and what it ran counts as interrupted.
   */
  async #diedOfStopping(exit: ExecExit): Promise<boolean> {
    const { isDraining, handBack } = this.#options
    if (!isDraining() && exit.signal !== null) await wait(SIGNAL_MS)
    // A run over its limit is killed for that, and ends.
    if (!isDraining() || this.overfull) return false
    handBack()
    return true
  }
}
