import type { RunningCommand } from './exec-handle.ts'
import type { ExecSlot } from './exec-slot.ts'
import { makeRequest, type SlotCommand } from './slot-request.ts'

/** An image whose shell does not keep to what slots are is not tried for ever. */
const MAX_FAILURES = 3

interface SlotsOptions {
  /** Slots that wait for commands: each is processes of the sandbox's. */
  max_waiting: number
  /** One is started behind the commands' backs whenever none is ready. Else only `prepare` does that. */
  refills: boolean
}

/** The slots of one sandbox. */
export class ExecSlots {
  readonly #options: SlotsOptions
  readonly #start: (onFree: (slot: ExecSlot) => void) => Promise<ExecSlot>
  #waiting: ExecSlot[] = []
  #starting: Promise<ExecSlot | null> | null = null
  /** What was started and has not ended yet, or is about to be. */
  readonly #living = new Set<Promise<unknown>>()
  /** What was started in an earlier one is not used any more. */
  #generation = 0
  #failures = 0
  /** Commands that begin, run or are killed. */
  #busy = 0
  #closed = false

  constructor(options: SlotsOptions, start: (onFree: (slot: ExecSlot) => void) => Promise<ExecSlot>) {
    this.#options = options
    this.#start = start
  }

  /** Begins the command in a slot, or `otherwise` where none can be had for it. Once it is given up it does not begin. */
  async run(
    command: SlotCommand,
    otherwise: () => Promise<RunningCommand>,
    given_up: AbortSignal,
  ): Promise<RunningCommand> {
    return this.#whileBusy(async (untilThen) => {
      const begun = await this.#begin(command, given_up)
      if (!begun) given_up.throwIfAborted()
      const running = begun ?? (await otherwise())
      untilThen(running.ended)
      return { ...running, kill: (urgent) => this.#whileBusy(() => running.kill(urgent)) }
    })
  }

  /**
   * Starts a slot unless one is ready; its failure is nobody's. Not beside a command: one that takes all the processes there
   * may be, while the engine starts another one, can cost the container its life.
   */
  async prepare(): Promise<void> {
    if (this.#busy > 0 || this.#closed || this.#starting || this.#failures >= MAX_FAILURES) return
    this.#waiting = this.#waiting.filter(({ is_free }) => is_free)
    if (this.#waiting.length > 0) return
    const starting = this.#open()
    this.#starting = starting
    const slot = await starting
    if (this.#starting !== starting) return
    this.#starting = null
    if (slot) this.#waiting.push(slot)
  }

  /** Of the slots until now none gets another command: their processes are killed, or are about to be. */
  discard(): void {
    this.#generation += 1
    for (const slot of this.#waiting) slot.close()
    this.#waiting = []
    this.#starting = null
  }

  /** Resolves when nothing of the slots until now is left, those included that are being started; true: there were some. */
  async ended(): Promise<boolean> {
    const living = [...this.#living]
    await Promise.all(living)
    return living.length > 0
  }

  /** Discards them, and none is started any more. */
  close(): void {
    this.#closed = true
    this.discard()
  }

  async #begin(command: SlotCommand, given_up: AbortSignal): Promise<RunningCommand | null> {
    const request = makeRequest(command)
    if (!request || this.#closed || this.#failures >= MAX_FAILURES) return null
    const slot = await this.#take()
    if (!slot) return null
    const running = await slot.run(request, given_up)
    this.#failures = running ? 0 : this.#failures + 1
    return running
  }

  /** `untilThen` is told what else is to be over. */
  async #whileBusy<Result>(
    work: (untilThen: (more: Promise<unknown>) => void) => Promise<Result>,
  ): Promise<Result> {
    const rest = () => {
      this.#busy -= 1
      if (this.#options.refills) void this.prepare()
    }
    this.#busy += 1
    try {
      return await work((more) => {
        this.#busy += 1
        more.then(rest, rest)
      })
    } finally {
      rest()
    }
  }

  async #take(): Promise<ExecSlot | null> {
    for (let slot = this.#waiting.pop(); slot; slot = this.#waiting.pop()) if (slot.is_free) return slot
    const starting = this.#starting ?? this.#open()
    this.#starting = null
    return starting
  }

  async #open(): Promise<ExecSlot | null> {
    const generation = this.#generation
    const onFree = (slot: ExecSlot) => {
      if (generation === this.#generation && this.#waiting.length < this.#options.max_waiting)
        this.#waiting.push(slot)
      else slot.close()
    }
    const started = this.#start(onFree)
    const over = started.then(({ closed }) => closed).catch(() => {})
    this.#living.add(over)
    over.then(() => this.#living.delete(over))
    const slot = await started.catch(() => null)
    if (!slot) return null
    const ready = await slot.isReady().catch(() => false)
    if (!ready && generation === this.#generation) this.#failures += 1
    if (ready && generation === this.#generation) return slot
    slot.close()
    return null
  }
}
