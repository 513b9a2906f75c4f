import type { MessageDelta, RunEvent } from '../contract/event.ts'
import { MOST_FOLLOWED } from '../contract/event-stream.ts'
import type { Db } from '../store/db.ts'
import { type Followed, type LogState, type LogTail, readLogs } from '../store/many-logs.ts'
import type { KeyCheck } from './key-check.ts'
import type { LogTails } from './log-tails.ts'
import { deltaOf, forget, formatDelta, formatEvent, KEEP_ALIVE, OPENING, PAGE_BYTES } from './sse.ts'
import { encodePlaces, type Places, tailOf } from './stream-cursor.ts'
import type { Turns } from './turns.ts'
import { Wake } from './wake.ts'

const PAGE = { limit: 200, bytes: PAGE_BYTES }
/** Of logs that changed: each may bring a page. */
const RUNS_AT_ONCE = 8
/** Between two looks for new runs below the ancestor. */
const FAMILY_MS = 250
const PAST_ALL = 2 ** 31 - 1

/** What all streams of the process share. */
export interface FollowServices {
  db: Db
  tails: LogTails
  /** For reading all logs of a stream, which may take the database a while. */
  turns: Turns
}

export type ManyItem =
  | { kind: 'event'; event: RunEvent; cursor: string }
  | { kind: 'delta'; run_id: string; delta: MessageDelta }
  | { kind: 'keep-alive' }
  | { kind: 'end'; cursor: string }

export interface FollowManyOptions extends Followed {
  /** What the reader has. */
  places: Places
  /** Of logs that are not in `places`, only what happened after this moment. */
  since: string | null
  /** Go on after the end of all runs: a follow-up may start one again. */
  follow: boolean
  /** Ends the stream. */
  signal: AbortSignal
  /** Ends the stream, too. */
  key: KeyCheck
  /** Whose turn it is to read. */
  owner: string
  /** Whether so many runs may be followed. */
  grow: (runs: number) => boolean
}

/**
 * As `followRun`, of many runs. It first reads all their logs together, by time, and then only those that changed, which all
 * streams of the process share. It ends without an end message where there are more runs than it may follow: who comes back for
 * the rest is told so.
 */
export async function* followRuns(
  { db, tails, turns }: FollowServices,
  options: FollowManyOptions,
): AsyncGenerator<ManyItem> {
  const { places, since, signal, key, owner } = options
  const wake = new Wake(signal)
  const watched = new Watched(tails, wake)
  const texts = new OpenTexts()
  function* show(events: readonly RunEvent[]): Generator<ManyItem> {
    for (const event of events) {
      texts.forget(event)
      places.set(tailOf(event.run_id), event.sequence)
      yield { kind: 'event', event, cursor: encodePlaces(places) }
    }
  }
  try {
    while (!signal.aborted) {
      if (!(await key.isStillAllowed())) return
      wake.clear()
      const { logs, events } = await turns.take(owner, () => readLogs(db, options, places, since, PAGE))
      if (logs.filter((log) => log.shown).length > MOST_FOLLOWED || !options.grow(logs.length)) return
      forgetOthers(places, logs)
      for (const { run_id, after } of logs) places.set(tailOf(run_id), after)
      // What was stored between reading and watching, the next reading finds.
      const are_new = watched.add(logs.map(({ run_id }) => run_id))
      yield* show(events)
      if (are_new || !logs.every((log) => isRead(log, places))) continue
      if (!options.follow && logs.every((log) => log.settled)) {
        yield { kind: 'end', cursor: encodePlaces(places) }
        return
      }
      for (const log of logs) yield* texts.deltas(log)
      const live = { logs: new Map(logs.map((log) => [log.run_id, log])), watched, wake, texts, show }
      yield* followChanges(tails, options, live)
    }
  } finally {
    watched.close()
    wake.close()
  }
}

interface Live {
  logs: Map<string, LogState>
  watched: Watched
  wake: Wake
  texts: OpenTexts
  show: (events: readonly RunEvent[]) => Generator<ManyItem>
}

/** Reads the logs that changed; it returns where all are to be looked at: at the end, and when there may be a new run. */
async function* followChanges(
  tails: LogTails,
  { places, signal, key, follow, ancestor_run_id }: FollowManyOptions,
  { logs, watched, wake, texts, show }: Live,
): AsyncGenerator<ManyItem> {
  const began = performance.now()
  let family_changed = false
  while (!signal.aborted) {
    const until_all = family_changed
      ? Math.max(0, began + FAMILY_MS - performance.now())
      : Number.POSITIVE_INFINITY
    const woken = await wake.wait(Math.min(key.wait_ms(), until_all))
    if (signal.aborted || !(await key.isStillAllowed())) return
    wake.clear()
    const changed = watched.takeChanged()
    // Whoever creates a run says so of all runs above it.
    family_changed ||= ancestor_run_id !== null && changed.has(ancestor_run_id)
    if (family_changed && performance.now() - began >= FAMILY_MS) return
    if (!woken && !family_changed) yield { kind: 'keep-alive' }
    yield* readChanged(tails, places, changed, { logs, watched, texts, show })
    if (!follow && !watched.has_changed && [...logs.values()].every((log) => log.settled)) return
  }
}

async function* readChanged(
  tails: LogTails,
  places: Places,
  changed: ReadonlySet<string>,
  { logs, watched, texts, show }: Omit<Live, 'wake'>,
): AsyncGenerator<ManyItem> {
  for (const some of inGroups([...changed], RUNS_AT_ONCE)) {
    const read = await Promise.all(some.map((run_id) => readShown(tails, run_id, logs, places)))
    for (const [at, run_id] of some.entries()) {
      const log = logs.get(run_id)
      // It was deleted meanwhile, and nothing more is waited for.
      if (log && !read[at]) log.settled = true
    }
    const found = read.filter((tail) => tail !== null)
    yield* show(byTime(found.flatMap(({ events }) => events)))
    for (const { run_id, settled, has_more, open } of found) {
      const log = logs.get(run_id)
      if (!log) continue
      log.settled = settled
      if (has_more) watched.change(run_id)
      else if (log.shown) yield* texts.deltas({ ...log, open })
    }
  }
}

/** Of an ancestor that is not followed itself, only how it stands. */
const readShown = async (
  tails: LogTails,
  run_id: string,
  logs: ReadonlyMap<string, LogState>,
  places: Places,
): Promise<LogTail | null> => {
  const after = logs.get(run_id)?.shown ? (places.get(tailOf(run_id)) ?? 0) : PAST_ALL
  return tails.read(run_id, after)
}

/** Those of each run stay in their order. */
const byTime = (events: RunEvent[]): RunEvent[] =>
  events.sort((one, other) =>
    one.run_id === other.run_id
      ? one.sequence - other.sequence
      : one.occurred_at < other.occurred_at
        ? -1
        : 1,
  )

function* inGroups<T>(all: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size)
}

/** Whether all of these runs have ended, and a reader at these places has all of them. */
export async function haveAll(
  { db, turns }: FollowServices,
  { places, since, owner, ...followed }: Followed & Pick<FollowManyOptions, 'places' | 'since' | 'owner'>,
): Promise<boolean> {
  const { logs, events } = await turns.take(owner, () => readLogs(db, followed, places, since, PAGE))
  return (
    events.length === 0 && logs.every((log) => log.settled && (!log.shown || log.after >= log.last_sequence))
  )
}

/** A cursor may name runs that this stream does not follow, or that never were. */
function forgetOthers(places: Places, logs: readonly LogState[]): void {
  const tails = new Set(logs.map(({ run_id }) => tailOf(run_id)))
  for (const tail of places.keys()) if (!tails.has(tail)) places.delete(tail)
}

const isRead = ({ run_id, shown, last_sequence }: LogState, places: Places): boolean =>
  !shown || (places.get(tailOf(run_id)) ?? 0) >= last_sequence

/** The runs whose changes wake the stream, and which have changed. */
class Watched {
  readonly #tails: LogTails
  readonly #wake: Wake
  readonly #runs = new Map<string, () => void>()
  #changed = new Set<string>()

  constructor(tails: LogTails, wake: Wake) {
    this.#tails = tails
    this.#wake = wake
  }
  /** Whether one of them is new. */
  add(run_ids: readonly string[]): boolean {
    const are_new = run_ids.filter((run_id) => !this.#runs.has(run_id))
    for (const run_id of are_new)
      this.#runs.set(
        run_id,
        this.#tails.follow(run_id, () => this.change(run_id)),
      )
    return are_new.length > 0
  }
  change(run_id: string): void {
    this.#changed.add(run_id)
    this.#wake.set()
  }
  get has_changed(): boolean {
    return this.#changed.size > 0
  }
  takeChanged(): Set<string> {
    const changed = this.#changed
    this.#changed = new Set()
    return changed
  }
  close(): void {
    for (const stop of this.#runs.values()) stop()
  }
}

/** What the reader has of texts on their way, by run. */
class OpenTexts {
  readonly #sent = new Map<string, Map<string, number>>()

  forget(event: RunEvent): void {
    const sent = this.#sent.get(event.run_id)
    if (sent) forget(event, sent)
  }
  *deltas({ run_id, open }: LogState): Generator<ManyItem> {
    const sent = this.#sent.get(run_id) ?? new Map<string, number>()
    this.#sent.set(run_id, sent)
    for (const message of open)
      for (const delta of deltaOf(message, sent)) yield { kind: 'delta', run_id, delta }
  }
}

/** Server-sent events as text. */
export async function* formatMany(items: AsyncIterable<ManyItem>): AsyncGenerator<string> {
  yield OPENING
  for await (const item of items) {
    if (item.kind === 'event') yield formatEvent(item.event, item.cursor)
    else if (item.kind === 'delta') yield formatDelta(item.run_id, item.delta)
    else if (item.kind === 'end')
      yield `id: ${item.cursor}\nevent: end\ndata: ${JSON.stringify({ cursor: item.cursor })}\n\n`
    else yield KEEP_ALIVE
  }
}
