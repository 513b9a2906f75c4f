import { type RawBuilder, sql } from 'kysely'
import type { Store } from './db.ts'
import { CHANNEL } from './hint.ts'

/**
 * How long between two NOTIFYs of this process: four times what the last one took, within these. One inside each commit cut inserts
 * to a third, and one after the other would be most of what a slow database does; but each run's readers wait for it.
 */
const INTERVAL_MS = { least: 5, most: 20 }
/** A process that was quiet may tell so many times in a row. */
const BURST = 16
/** PostgreSQL refuses payloads of 8,000 bytes; a run id takes 39. */
const IDS_PER_PAYLOAD = 150
const POLL_MS = 1_000

interface Hint {
  runs: string[]
  /** Pools in which a run became claimable. */
  pools: string[]
  /** The runs' own workers wrote this, so no caller wants anything of them. */
  logged?: boolean
}

/** The change that a statement announces at its commit. */
type Told = { run_ids: readonly string[]; pool: string } | { logged: string }

type Listener = () => void

/** Costs next to nothing to answer. */
export type Question = RawBuilder<boolean>

/**
 * Tells other processes what changed: at the commit, as part of the statement, while a process has little to tell; after it, many
 * ids in one NOTIFY, when it has more. And hears what others say. Only a hint: each second it asks the database about the
 * runs that are followed, and whether work waits, so a lost notification costs a second and nothing else. One a process.
 */
export class Watch {
  readonly #store: Store
  readonly #runs = new Map<string, Set<Listener>>()
  readonly #orders = new Map<string, Set<Listener>>()
  readonly #pools = new Map<string, Set<Listener>>()
  readonly #any = new Set<Listener>()
  readonly #questions = new Map<Question, Listener>()
  readonly #seen = new Map<string, string>()
  #pending = nothing()
  #flushing: NodeJS.Timeout | undefined
  #last_flush = 0
  #interval_ms = INTERVAL_MS.most
  /** When all that was told so far would have been told at one NOTIFY an interval. */
  #even_at = 0
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

  /** The same, where the run's own worker wrote it. */
  touchLog(run_id: string): void {
    this.#pending.logs.add(run_id)
    this.#scheduleFlush()
  }

  /**
   * A payload for `telling`, which saves the commit of a NOTIFY. `null`: this process has told much, so touch what changed after the
   * commit.
   */
  takeHint(told: Told): string | null {
    if ('run_ids' in told && told.run_ids.length > IDS_PER_PAYLOAD) return null
    const now = performance.now()
    if (this.#flushing || this.#closed || this.#even_at > now + BURST * this.#interval_ms) return null
    this.#even_at = Math.max(now, this.#even_at) + this.#interval_ms
    if ('logged' in told) return JSON.stringify({ runs: [told.logged], pools: [], logged: true })
    return JSON.stringify({ runs: told.run_ids, pools: [told.pool] })
  }

  touchPool(pool: string): void {
    this.#pending.pools.add(pool)
    this.#scheduleFlush()
  }

  /** Calls back, at once and without arguments, whenever the run may have changed. Returns how to stop. */
  onRun(run_id: string, listener: Listener): () => void {
    return subscribe(this.#runs, run_id, listener, () => this.#seen.delete(run_id))
  }

  /** Calls back when somebody else than the run's worker changed it. Nothing is polled for these. */
  onOrder(run_id: string, listener: Listener): () => void {
    return subscribe(this.#orders, run_id, listener)
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

  /**
   * Calls back each second in which the answer is yes, or the question fails. All questions of a process are one statement. The
   * listener looks for itself. Returns how to stop.
   */
  onWaiting(question: Question, listener: Listener): () => void {
    this.#questions.set(question, listener)
    return () => {
      this.#questions.delete(question)
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
    const wait = Math.max(0, this.#last_flush + this.#interval_ms - performance.now())
    this.#flushing = setTimeout(() => this.#flush(), wait)
  }

  async #flush(): Promise<void> {
    this.#flushing = undefined
    this.#last_flush = performance.now()
    this.#even_at = Math.max(this.#last_flush, this.#even_at) + this.#interval_ms
    const { runs, logs, pools } = this.#pending
    this.#pending = nothing()
    const hints: Hint[] = [
      ...(pools.size > 0 ? [{ runs: [], pools: [...pools] }] : []),
      ...inParts([...runs]).map((part) => ({ runs: part, pools: [] })),
      ...inParts([...logs].filter((run_id) => !runs.has(run_id))).map((part) => ({
        runs: part,
        pools: [],
        logged: true,
      })),
    ]
    const payloads = hints.map((hint) => JSON.stringify(hint))
    try {
      await sql`select pg_notify(${CHANNEL}, payload) from unnest(${payloads}::text[]) payload`.execute(
        this.#store.quick,
      )
      const took = performance.now() - this.#last_flush
      this.#interval_ms = Math.min(Math.max(4 * took, INTERVAL_MS.least), INTERVAL_MS.most)
    } catch {
      // Other processes poll.
      for (const payload of payloads) this.#hear(payload)
    }
  }

  #hear(payload: string): void {
    const hint = readHint(payload)
    for (const run_id of hint.runs) {
      this.#call(this.#runs.get(run_id))
      if (!hint.logged) this.#call(this.#orders.get(run_id))
    }
    for (const pool of hint.pools) this.#call(this.#pools.get(pool))
    this.#call(this.#any)
  }

  #call(listeners: Set<Listener> | undefined): void {
    for (const listener of listeners ?? []) listener()
  }

  #schedulePoll(): void {
    if (this.#closed) return
    this.#poll = setTimeout(() => this.#ask(), POLL_MS)
    this.#poll.unref()
  }

  async #ask(): Promise<void> {
    // The database may be away; the next poll tries again.
    await Promise.all([this.#pollRuns(), this.#pollWork()]).catch(() => {})
    this.#schedulePoll()
  }

  async #pollWork(): Promise<void> {
    const questions = [...this.#questions]
    if (questions.length === 0) return
    const answers = await this.#askTogether(questions.map(([question]) => question))
    for (const [n, [question, listener]] of questions.entries())
      if ((!answers || answers[n]) && this.#questions.has(question)) listener()
  }

  /** `null`: they cannot be asked together, so each has to look, and to say what is wrong with its own. */
  #askTogether(questions: readonly Question[]): Promise<boolean[] | null> {
    return sql<{ answers: boolean[] }>`select array[${sql.join(questions)}] as answers`
      .execute(this.#store.quick)
      .then(
        ({ rows }) => rows[0]?.answers ?? null,
        () => null,
      )
  }

  async #pollRuns(): Promise<void> {
    const ids = [...this.#runs.keys()]
    if (ids.length === 0) return
    const found = await sql<{ run_id: string; mark: string }>`
      select run_id, last_sequence || state || coalesce(worker_id::text, '') as mark
      from runs where run_id = any(${ids}::uuid[])`.execute(this.#store.quick)
    for (const { run_id, mark } of found.rows) {
      const before = this.#seen.get(run_id)
      if (this.#runs.has(run_id)) this.#seen.set(run_id, mark)
      if (before !== mark) this.#call(this.#runs.get(run_id))
    }
    // Who follows a run that was deleted ends with it.
    const present = new Set(found.rows.map(({ run_id }) => run_id))
    for (const run_id of ids)
      if (!present.has(run_id) && this.#seen.delete(run_id)) this.#call(this.#runs.get(run_id))
  }
}

const nothing = () => ({ runs: new Set<string>(), logs: new Set<string>(), pools: new Set<string>() })

const inParts = (ids: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(ids.length / IDS_PER_PAYLOAD) }, (_, part) =>
    ids.slice(part * IDS_PER_PAYLOAD, (part + 1) * IDS_PER_PAYLOAD),
  )

/** Anyone who may connect to the database may also speak on the channel. */
function readHint(payload: string): Hint {
  try {
    const { runs, pools, logged } = JSON.parse(payload) as Partial<Hint>
    if (Array.isArray(runs) && Array.isArray(pools)) return { runs, pools, logged: logged === true }
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
