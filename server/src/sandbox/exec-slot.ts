import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { exitOfShell, type RunningCommand } from './exec-handle.ts'
import { SandboxFault } from './sandbox.ts'
import { GO, type SlotRequest } from './slot-request.ts'
import { SlotTurn } from './slot-turn.ts'

/** How long a slot may take to begin what it is asked for. */
const BEGIN_LIMIT_MS = 5_000
/** The same, after somebody else wrote where only the slot writes. */
const DOUBT_MS = 500
/** How long the output of one that was killed may take to end. */
const CLOSE_LIMIT_MS = 1_000
const MAX_KILLS = 3
/** The first byte of a slot that keeps to its script. */
const READY = 'r'.charCodeAt(0)

export interface SlotParts {
  /** What the script reads. */
  input: Writable
  /** Hands over what it says, in pieces, and waits each time; resolves when both outputs have ended, however that came. */
  read: (deliver: (stream: 'stdout' | 'stderr', data: Buffer) => Promise<void>) => Promise<void>
  /** Gives up waiting for the end of the outputs. */
  cut: () => void
  /** A slot without a command must not keep the service from its end. */
  keepAwake: (awake: boolean) => void
  /** Whether it could still be given what commands need from outside. */
  isSound?: () => boolean
  /** How the script ended; asked for when its output has. */
  readExit: () => Promise<{ code: number | null; signal: string | null }>
  /** Kills the script and everything below it. `urgent`: somebody wants its command to end. Never throws. */
  kill: (urgent: boolean) => Promise<void>
  /** Frozen slots are waited for. */
  isFrozen: () => Promise<boolean>
  /** The command has ended, and nothing of it is left. */
  onFree: (slot: ExecSlot) => void
}

/**
 * A process inside that runs one command after another, so that a command need not be started from outside, which takes ten
 * times as long. Any process of the sandbox can write into what it says and reads: that is never believed further than the
 * output of a command is, and what makes no sense costs the slot its life.
 */
export class ExecSlot {
  readonly closed: Promise<void>
  #is_open = true
  readonly #parts: SlotParts
  #turn: SlotTurn | null = null
  /** It gets no other command. */
  #spent = false
  #disturbed = false
  readonly #ready = Promise.withResolvers<boolean>()
  #is_ready = false

  constructor(parts: SlotParts) {
    this.#parts = parts
    parts.input.on('error', () => {})
    this.closed = parts
      .read((stream, data) => this.#take(stream, data))
      .then(() => {
        this.#is_open = false
        this.#ready.resolve(false)
        this.#turn?.close()
      })
    this.#parts.keepAwake(false)
  }

  get is_free(): boolean {
    return this.#is_open && !this.#spent && this.#turn === null && (this.#parts.isSound?.() ?? true)
  }

  /** Whether it can be given a command. One that cannot ends itself as soon as it can. */
  async isReady(): Promise<boolean> {
    const ready = await within(this.#ready.promise, BEGIN_LIMIT_MS)
    if (ready) return true
    await this.#end().catch(() => {})
    return false
  }

  /**
   * Resolves when the command has begun; with `null` when it has not and never will, since the slot ended before or the
   * command was given up. Throws `SandboxFault` when that cannot be told.
   */
  async run(request: SlotRequest, given_up: AbortSignal): Promise<RunningCommand | null> {
    if (!this.is_free || given_up.aborted) return null
    const turn = new SlotTurn(request)
    this.#turn = turn
    this.#spent = request.once
    this.#parts.keepAwake(true)
    this.#parts.input.write(request.text)
    const aborted = once(given_up, 'abort').then(() => false)
    if (!(await Promise.race([this.#begin(turn), aborted])) || given_up.aborted) {
      // What it was sent waits for its word. Of its end nobody is told.
      this.close()
      this.#parts.keepAwake(false)
      return null
    }
    this.#parts.input.write(GO)
    return {
      stdin: request.once ? this.#parts.input : null,
      stdout: turn.stdout,
      stderr: turn.stderr,
      ended: turn.ended.promise.then((code) => (code === null ? this.#parts.readExit() : exitOfShell(code))),
      // Of a command that is over, the slot may have another one by now.
      kill: async (urgent) => (turn.over ? undefined : this.#kill(urgent)),
    }
  }

  /** Ends a slot that has no command. */
  close(): void {
    this.#spent = true
    this.#parts.input.end()
  }

  async #begin(turn: SlotTurn): Promise<boolean> {
    for (let kills = 0; kills < MAX_KILLS; ) {
      const begun = await within(turn.begun.promise, BEGIN_LIMIT_MS)
      if (begun !== null) return begun
      if (await this.#parts.isFrozen()) continue
      await this.#kill()
      await within(this.closed, CLOSE_LIMIT_MS)
      if (!this.#is_open) return false
      kills += 1
    }
    throw new SandboxFault('the sandbox did not begin a command in time')
  }

  async #take(stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void> {
    const first = !this.#is_ready && stream === 'stdout' && chunk[0] === READY
    if (first) {
      this.#is_ready = true
      this.#ready.resolve(true)
      if (chunk.length === 1) return
    }
    const data = first ? chunk.subarray(1) : chunk
    const turn = this.#turn
    const understood = turn !== null && (await turn.take(stream, data))
    if (!understood) {
      if (!this.#disturbed) (turn ? this.#kill() : this.#end()).catch(() => {})
      this.#disturbed = true
      // One that has not begun may still do so: until the slot has ended nobody can tell.
      if (turn?.has_begun) turn.close()
    }
    if (turn?.is_disturbed && !this.#spent) {
      this.#spent = true
      void this.#doubt(turn)
    }
    if (turn?.over && turn === this.#turn) {
      this.#turn = null
      this.#parts.keepAwake(false)
      if (understood && this.is_free) this.#parts.onFree(this)
      else if (turn.is_disturbed) this.#end().catch(() => {})
    }
  }

  /** What it was given may be lost behind what others wrote; or it begins all the same, and then it is left to its end. */
  async #doubt(turn: SlotTurn): Promise<void> {
    if ((await within(turn.begun.promise, DOUBT_MS)) === null) await this.#kill()
  }

  /** Of its own accord, if it can. */
  async #end(): Promise<void> {
    this.close()
    await within(this.closed, CLOSE_LIMIT_MS)
    if (this.#is_open && !(await this.#parts.isFrozen())) await this.#kill()
  }

  async #kill(urgent = false): Promise<void> {
    this.#spent = true
    await this.#parts.kill(urgent)
    void this.#cut()
  }

  /** An engine may keep the output of what was killed with its container open for ever. */
  async #cut(): Promise<void> {
    await within(this.closed, CLOSE_LIMIT_MS)
    if (this.#is_open) this.#parts.cut()
  }
}

/** What the promise resolves with; `null` when that takes longer. */
async function within<Result>(promise: Promise<Result>, milliseconds: number): Promise<Result | null> {
  const timer = new AbortController()
  try {
    return await Promise.race([
      promise,
      delay(milliseconds, null, { signal: timer.signal }).catch(() => null),
    ])
  } finally {
    timer.abort()
  }
}
