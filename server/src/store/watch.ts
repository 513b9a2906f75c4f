import { sql } from 'kysely'
import type { Store } from './db.ts'

const CHANNEL = 'runyard'
/** At most this often: a NOTIFY inside each commit cut inserts to a third. */
const INTERVAL_MS = 20
/** PostgreSQL refuses payloads of 8,000 bytes; a run id takes 39. */
const IDS_PER_PAYLOAD = 150
const POLL_MS = 1_000

interface Hint {
  runs: string[]
  /** Pools in which a run became claimable. */
  pools: string[]
}

type Listener = () => void

/**
 * Tells other processes what changed, after the commit, many ids in one NOTIFY; and hears what they say. Only a hint:
 * followed runs are polled each second as well, and so is what listens to everything, so a lost notification costs a second
 * and nothing else. One a process.
 */
export class Watch {
  readonly #store: Store
  readonly #runs = new Map<string, Set<Listener>>()
  readonly #pools = new Map<string, Set<Listener>>()
  readonly #any = new Set<Listener>()
  readonly #seen = new Map<string, string>()
  #pending = { runs: new Set<string>(), pools: new Set<string>() }
  #flushing: NodeJS.Timeout | undefined
  #last_flush = 0
  #poll: NodeJS.Timeout | undefined
  #unlisten: (() => Promise<void>) | undefined
  #closed = false

  constructor(store: Store) {
    this.#store = store
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#store.listen(CHANNEL, (payload) => this.#hear(payload))
    this.#schedulePoll()
  }

  /** Says that something about the run changed; call it after the commit. */
  touchRun(run_id: string): void {
    this.#pending.runs.add(run_id)
    this.#scheduleFlush()
  }

  touchPool(pool: string): void {
    this.#pending.pools.add(pool)
    this.#scheduleFlush()
  }

  /** Calls back, at once and without arguments, whenever the run may have changed. Returns how to stop. */
  onRun(run_id: string, listener: Listener): () => void {
    return subscribe(this.#runs, run_id, listener, () => this.#seen.delete(run_id))
  }

  onPool(pool: string, listener: Listener): () => void {
    return subscribe(this.#pools, pool, listener)
  }

  /** Calls back on every notification. Returns how to stop. */
  onAny(listener: Listener): () => void {
    this.#any.add(listener)
    return () => {
      this.#any.delete(listener)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#poll)
    if (this.#flushing) {
      clearTimeout(this.#flushing)
      await this.#flush()
    }
    await this.#unlisten?.()
  }

  #scheduleFlush(): void {
    if (this.#flushing || this.#closed) return
    const wait = Math.max(0, this.#last_flush + INTERVAL_MS - performance.now())
    this.#flushing = setTimeout(() => this.#flush(), wait)
  }

  async #flush(): Promise<void> {
    this.#flushing = undefined
    this.#last_flush = performance.now()
    const { runs, pools } = this.#pending
    this.#pending = { runs: new Set(), pools: new Set() }
    const ids = [...runs]
    const payloads: string[] = []
    for (let i = 0; i < Math.max(ids.length, 1); i += IDS_PER_PAYLOAD) {
      const hint: Hint = { runs: ids.slice(i, i + IDS_PER_PAYLOAD), pools: i === 0 ? [...pools] : [] }
      payloads.push(JSON.stringify(hint))
    }
    try {
      await sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) payload`.execute(
        this.#store.quick,
      )
    } catch {
      // Other processes poll.
      for (const payload of payloads) this.#hear(payload)
    }
  }

  #hear(payload: string): void {
    const hint = readHint(payload)
    for (const run_id of hint.runs) this.#call(this.#runs.get(run_id))
    for (const pool of hint.pools) this.#call(this.#pools.get(pool))
    this.#call(this.#any)
  }

  #call(listeners: Set<Listener> | undefined): void {
    for (const listener of listeners ?? []) listener()
  }

  #schedulePoll(): void {
    if (this.#closed) return
    this.#poll = setTimeout(() => this.#pollRuns(), POLL_MS)
    this.#poll.unref()
  }

  async #pollRuns(): Promise<void> {
    try {
      const ids = [...this.#runs.keys()]
      if (ids.length) {
        const found = await sql<{ run_id: string; mark: string }>`
          select run_id, last_sequence || state || coalesce(worker_id::text, '') as mark
          from runs where run_id = any(${ids}::uuid[])`.execute(this.#store.quick)
        for (const { run_id, mark } of found.rows) {
          const before = this.#seen.get(run_id)
          if (this.#runs.has(run_id)) this.#seen.set(run_id, mark)
          if (before !== mark) this.#call(this.#runs.get(run_id))
        }
      }
    } catch {
      // The database is away; the next poll tries again.
    }
    this.#schedulePoll()
  }
}

/** Anyone who may connect to the database may also speak on the channel. */
function readHint(payload: string): Hint {
  try {
    const { runs, pools } = JSON.parse(payload) as Partial<Hint>
    if (Array.isArray(runs) && Array.isArray(pools)) return { runs, pools }
  } catch {
    // Not ours.
  }
  return { runs: [], pools: [] }
}

function subscribe(
  map: Map<string, Set<Listener>>,
  key: string,
  listener: Listener,
  onEmpty: () => void = () => {},
): () => void {
  const listeners = map.get(key) ?? new Set()
  map.set(key, listeners.add(listener))
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0 || map.get(key) !== listeners) return
    map.delete(key)
    onEmpty()
  }
}
