import { setTimeout as wait } from 'node:timers/promises'
import type { WorkerContext } from './context.ts'
import type { Executions } from './executions.ts'

/** Between two checks of the disk, whose result is written to the worker's row. */
const DISK_MS = 2_000
const REST_MS = 10_000

/** Takes queued runs for as long as there are free slots and room on the disk. Asks for them when it is nudged. */
export class Claims {
  readonly #context: WorkerContext
  readonly #worker_id: string
  readonly #executions: Executions
  readonly #onFull: () => void
  readonly #closing = new AbortController()
  #loop: Promise<void> = Promise.resolve()
  #wake: () => void = () => {}
  #count = 0
  #under_way = false
  #resting_until = Number.NEGATIVE_INFINITY
  /** What others were told of this worker's disk. */
  #full = false

  /** `onFull`: the disk has too little room for another run. */
  constructor(context: WorkerContext, worker_id: string, executions: Executions, onFull: () => void) {
    this.#context = context
    this.#worker_id = worker_id
    this.#executions = executions
    this.#onFull = onFull
  }

  start(): void {
    this.#loop = this.#claimAll()
  }

  /** A run may have become claimable, or a slot free. */
  nudge(): void {
    this.#wake()
  }

  /** A run of this worker had no room: what is handed back is left to others for a while, even where that made room. */
  rest(): void {
    this.#resting_until = performance.now() + REST_MS
    this.#wake()
  }

  /** Claims nothing more. */
  close(): void {
    this.#closing.abort()
  }

  isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Resolves after `close` when no claim is under way any more. */
  closed(): Promise<void> {
    return this.#loop
  }

  /**
   * A mark that stays the same for as long as no claim begins; `null` while one is under way. What was read between two
   * equal marks holds every run this worker holds.
   */
  mark(): number | null {
    return this.#under_way ? null : this.#count
  }

  async #claimAll(): Promise<void> {
    const { slots } = this.#context.settings
    for (let woken = true; !this.#closing.signal.aborted; ) {
      const waiting = new Promise<true>((resolve) => {
        this.#wake = () => resolve(true)
      })
      const free = slots - this.#executions.slots_taken
      const room = await this.#hasRoom()
      const claimed = woken && free > 0 && room ? await this.#claim(free) : 0
      // Fewer than there was room for: no more wait, or they may not be claimed now.
      if (claimed > 0 && claimed === free && this.#executions.slots_taken < slots) continue
      const { signal } = this.#closing
      woken = await Promise.race([waiting, wait(DISK_MS, false, { signal }).catch(() => false)])
    }
  }

  /** The claim may be committed though its answer is not heard: `Orders` finds what is held and not executed. */
  async #claim(n: number): Promise<number> {
    this.#under_way = true
    this.#count += 1
    try {
      const worker = { worker_id: this.#worker_id, pool: this.#context.settings.pool }
      const claimed = await this.#context.plane.claim(worker, n)
      for (const lease of claimed) this.#executions.start(lease)
      return claimed.length
    } catch (error) {
      this.#context.log.warn({ err: error }, 'Claiming failed; trying again.')
      return 0
    } finally {
      this.#under_way = false
    }
  }

  async #hasRoom(): Promise<boolean> {
    const full = performance.now() < this.#resting_until || !(await this.#context.disk.hasRoom())
    if (full !== this.#full) {
      if (full) this.#onFull()
      const told = await this.#context.plane.markDisk(this.#worker_id, full).then(
        () => true,
        () => false,
      )
      // Else it is said with the next look.
      if (told) this.#full = full
    }
    return !full
  }
}
