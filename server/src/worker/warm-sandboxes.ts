import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { SandboxKind } from '../sandbox/sandbox.ts'
import type { Reserve, WorkerContext } from './context.ts'

/** Kinds that sandboxes are kept of: those asked for last. */
const KINDS = 4
/** A kind that nobody asks for is given up after this. */
const UNUSED_MS = 30 * 60_000
/** The run that took one comes first: it gets so long before another is made. */
const PAUSE_MS = 300
const RETRY_MS = 30_000
const SEPARATOR = '.warm-'

/** What a worker makes beside its runs has such a name, and is left alone while that worker lives. */
export const nameOfOwn = (worker_id: string): string => `${worker_id}${SEPARATOR}${randomUUID()}`

/** The worker in whose life the sandbox of this name was made in advance; `null` when it was not. */
export function workerOfWarm(name: string): string | null {
  const [worker_id = '', rest] = name.split(SEPARATOR)
  return rest === undefined ? null : worker_id
}

type Services = Pick<WorkerContext, 'backend' | 'gateway' | 'disk' | 'log'> & { settings: { warm: number } }

interface Stock {
  kind: SandboxKind
  ready: Reserve[]
  used_at: number
}

/**
 * Sandboxes that a worker makes in advance, of the kinds that runs ask for. They hold nothing of anybody's, and each serves one
 * run. They are made in the background, one after the other; nobody waits for one.
 */
export class WarmSandboxes {
  readonly #context: Services
  readonly #worker_id: string
  readonly #now: () => number
  readonly #closing = new AbortController()
  /** By kind, the one asked for last at the end. */
  readonly #stocks = new Map<string, Stock>()
  #filling: Promise<void> | null = null
  /** Rises with `renew`: what was begun before is of no use after it. */
  #generation = 0

  constructor(context: Services, worker_id: string, now: () => number = Date.now) {
    this.#context = context
    this.#worker_id = worker_id
    this.#now = now
  }

  /** One that is ready, for the caller to adopt or destroy. Another one is made for the next. */
  take({ image, pull, limits, egress, folders }: SandboxKind): Reserve | null {
    const { backend, settings } = this.#context
    if (!backend.createWarm || settings.warm === 0 || this.#closing.signal.aborted) return null
    const kind: SandboxKind = {
      ...{ limits, egress },
      ...(image === undefined ? {} : { image }),
      ...(pull === undefined ? {} : { pull }),
      ...(folders === undefined ? {} : { folders }),
    }
    const name = JSON.stringify(kind)
    const stock = this.#stocks.get(name) ?? { kind, ready: [], used_at: 0 }
    stock.used_at = this.#now()
    this.#stocks.delete(name)
    this.#stocks.set(name, stock)
    this.#filling ??= this.#fill().finally(() => {
      this.#filling = null
    })
    return stock.ready.shift() ?? null
  }

  /** Removes them all; one that is being made is waited for. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#filling
    for (const stock of this.#stocks.values()) await this.#empty(stock)
    this.#stocks.clear()
  }

  async #fill(): Promise<void> {
    const { disk, log, settings } = this.#context
    const pause = (milliseconds: number) =>
      wait(milliseconds, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {})
    for (await pause(PAUSE_MS); !this.#closing.signal.aborted; ) {
      await this.removeUnused()
      const wanting = [...this.#stocks.values()].reverse().find(({ ready }) => ready.length < settings.warm)
      if (!wanting || !(await disk.hasRoom())) return
      try {
        const generation = this.#generation
        const made = await this.#make(wanting.kind)
        // Given up or renewed meanwhile.
        const wanted = generation === this.#generation && [...this.#stocks.values()].includes(wanting)
        if (wanted) wanting.ready.push(made)
        else await this.#remove(made)
      } catch (error) {
        // Whoever wants such a sandbox makes it, and hears why it cannot be had.
        log.info({ err: error }, 'No sandbox could be made in advance; trying again later.')
        await pause(RETRY_MS)
      }
    }
  }

  async #make(kind: SandboxKind): Promise<Reserve> {
    const { backend, gateway } = this.#context
    if (!backend.createWarm) throw new Error(`${backend.name} makes no sandboxes in advance.`)
    const way = kind.egress === 'allowlist' ? gateway.reserve() : null
    try {
      const name = nameOfOwn(this.#worker_id)
      return { way, sandbox: await backend.createWarm(name, { ...kind, ...(way && { proxy: way }) }) }
    } catch (error) {
      way?.close()
      throw error
    }
  }

  /** Removes what is ready, and later what is being made: what sandboxes are made of is another now. */
  async renew(): Promise<void> {
    this.#generation += 1
    for (const stock of this.#stocks.values()) await this.#empty(stock)
  }

  /** Removes those of kinds that nobody has asked for in a while. */
  async removeUnused(): Promise<void> {
    const surplus = this.#stocks.size - KINDS
    for (const [place, [name, stock]] of [...this.#stocks].entries()) {
      if (place >= surplus && this.#now() - stock.used_at < UNUSED_MS) continue
      this.#stocks.delete(name)
      await this.#empty(stock)
    }
  }

  async #empty({ ready }: Stock): Promise<void> {
    for (let one = ready.shift(); one; one = ready.shift()) await this.#remove(one)
  }

  async #remove({ way, sandbox }: Reserve): Promise<void> {
    way?.close()
    await sandbox.destroy().catch((error) => {
      // The reaper finds it once this worker is gone.
      this.#context.log.warn({ err: error }, 'A sandbox made in advance could not be removed.')
    })
  }
}
