import { PassThrough } from 'node:stream'
import { MarkerFinder } from './marker-finder.ts'
import { passOn } from './pass-on.ts'
import type { SlotRequest } from './slot-request.ts'

/** Output that may come before the word that the command begins: the two streams do not wait for each other. */
const MAX_EARLY_BYTES = 1024 ** 2
/** An exit code and a line end. */
const MAX_CODE_BYTES = 4

/** The output of one command of a slot, from its request to its end. What is said of it may be forged by its neighbours. */
export class SlotTurn {
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  /** Whether the command began; false: the slot ended before. */
  readonly begun = Promise.withResolvers<boolean>()
  /** The exit code that the slot told; `null`: the slot ended with its command, or instead. */
  readonly ended = Promise.withResolvers<number | null>()
  has_begun = false
  /** Somebody else wrote before it began, where only the slot writes. That is left out. */
  is_disturbed = false
  over = false
  readonly #begin: MarkerFinder
  readonly #ends: Record<'stdout' | 'stderr', MarkerFinder | null>
  /** What has come behind an end. */
  readonly #codes: Partial<Record<'stdout' | 'stderr', string>> = {}
  #early_bytes = 0

  constructor(request: SlotRequest) {
    this.#begin = new MarkerFinder(request.begin)
    const find = () => (request.once ? null : new MarkerFinder(request.end))
    this.#ends = { stdout: find(), stderr: find() }
  }

  /** Waits for a slow reader. False: this is not what a slot says, and its processes cannot be told apart any more. */
  async take(stream: 'stdout' | 'stderr', data: Buffer): Promise<boolean> {
    if (this.has_begun) return this.#pass(stream, data)
    if (stream === 'stderr') {
      // Nobody reads it yet, so it must not be waited for: the word for the beginning comes behind it.
      this.#early_bytes += data.length
      this.#pass(stream, data)
      return this.#early_bytes <= MAX_EARLY_BYTES
    }
    const { before, behind } = this.#begin.find(data)
    this.is_disturbed ||= before.length > 0
    this.#early_bytes += before.length
    if (!behind) return this.#early_bytes <= MAX_EARLY_BYTES
    this.has_begun = true
    this.begun.resolve(true)
    return this.#pass(stream, behind)
  }

  /** The slot has ended. */
  close(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const held = this.#ends[stream]?.rest()
      if (this.#codes[stream] === undefined && held?.length) this[stream].write(held)
      this[stream].end()
    }
    this.over = true
    this.begun.resolve(false)
    this.ended.resolve(null)
  }

  async #pass(stream: 'stdout' | 'stderr', data: Buffer): Promise<boolean> {
    const end = this.#ends[stream]
    if (!end) {
      await passOn(this[stream], data)
      return true
    }
    const told = this.#codes[stream]
    if (told !== undefined) return this.#readCode(stream, told, data)
    const { before, behind } = end.find(data)
    await passOn(this[stream], before)
    return behind ? this.#readCode(stream, '', behind) : true
  }

  #readCode(stream: 'stdout' | 'stderr', told: string, data: Buffer): boolean {
    if (data.length > MAX_CODE_BYTES || told.endsWith('\n')) return data.length === 0
    const text = told + data.toString('latin1')
    this.#codes[stream] = text
    if (!/^\d{0,3}$|^\d{1,3}\n$/.test(text)) return false
    if (text.endsWith('\n')) this[stream].end()
    if (this.#codes.stdout?.endsWith('\n') && this.#codes.stderr?.endsWith('\n')) {
      if (this.#codes.stdout !== this.#codes.stderr) return false
      this.over = true
      this.ended.resolve(Number(text))
    }
    return true
  }
}
