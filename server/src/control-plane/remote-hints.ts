import { setTimeout as wait } from 'node:timers/promises'
import type { Hints, WorkerName } from '../worker/control-plane.ts'
import type { Ask } from './remote-calls.ts'

/** How long the control plane may keep a question that has no answer yet: less than most proxies do. */
export const WAIT_MS = 25_000
const PAUSE_MS = 1_000
/** More are not asked for at once: what is wanted of the others is read now and then anyway. */
const MOST_ORDERS = 1_000

type Listener = () => void

/** The answer to a question that waits. */
interface Heard {
  runs: boolean
  refreshes: boolean
  orders: string[]
}

/** Hints over HTTPS: one question waits at the control plane, and is asked anew as soon as it is answered. */
export class RemoteHints implements Hints {
  readonly #ask: Ask
  readonly #runs = new Set<Listener>()
  readonly #refreshes = new Set<Listener>()
  readonly #held = new Set<Listener>()
  readonly #orders = new Map<string, Set<Listener>>()
  #asking = new AbortController()
  #listening = false

  constructor(ask: Ask) {
    this.#ask = ask
  }

  onRuns(_worker: WorkerName, listener: Listener): () => void {
    return this.#add(this.#runs, listener)
  }

  onRefreshes(_worker: WorkerName, listener: Listener): () => void {
    return this.#add(this.#refreshes, listener)
  }

  /** The runs that are held are read anyway: often while something is executed, now and then otherwise. */
  onHeld(_worker_id: string, listener: Listener): () => void {
    this.#held.add(listener)
    return () => this.#held.delete(listener)
  }

  onOrder(run_id: string, listener: Listener): () => void {
    const listeners = this.#orders.get(run_id) ?? new Set()
    this.#orders.set(run_id, listeners)
    const stop = this.#add(listeners, listener)
    return () => {
      stop()
      if (listeners.size === 0 && this.#orders.get(run_id) === listeners) this.#orders.delete(run_id)
    }
  }

  onRun(_run_id: string, listener: Listener): () => void {
    const timer = setInterval(listener, PAUSE_MS).unref()
    return () => clearInterval(timer)
  }

  /** A claim was asked for and not answered: what is held may be more than what is known. */
  lookSoon(): void {
    setTimeout(() => call(this.#held), PAUSE_MS).unref()
  }

  /** No question waits any more, until somebody listens again. */
  close(): void {
    this.#runs.clear()
    this.#refreshes.clear()
    this.#orders.clear()
    this.#asking.abort()
  }

  #add(listeners: Set<Listener>, listener: Listener): () => void {
    listeners.add(listener)
    // Which runs are meant goes with the question.
    this.#asking.abort()
    this.#listen().catch(() => {})
    return () => listeners.delete(listener)
  }

  async #listen(): Promise<void> {
    if (this.#listening) return
    this.#listening = true
    while (this.#runs.size + this.#refreshes.size + this.#orders.size > 0) {
      this.#asking = new AbortController()
      const { signal } = this.#asking
      const question = { runs: this.#runs.size > 0, orders: [...this.#orders.keys()].slice(0, MOST_ORDERS) }
      const asked: Promise<Heard> = this.#ask('wait', question, { timeout_ms: WAIT_MS * 2, signal })
      const heard = await asked.catch(() => null)
      if (heard?.runs) call(this.#runs)
      if (heard?.refreshes) call(this.#refreshes)
      for (const run_id of heard?.orders ?? []) call(this.#orders.get(run_id) ?? [])
      // It is away: whoever listens looks by itself meanwhile.
      if (!heard && !signal.aborted) await wait(PAUSE_MS, undefined, { ref: false })
    }
    this.#listening = false
  }
}

const call = (listeners: Iterable<Listener>): void => {
  for (const listener of [...listeners]) listener()
}
