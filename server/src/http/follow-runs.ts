import type { MessageDelta, RunEvent } from '../contract/event.ts'
import { MOST_FOLLOWED } from '../contract/event-stream.ts'
import type { Db } from '../store/db.ts'
import { type Followed, type LogState, readLogs } from '../store/many-logs.ts'
import type { Watch } from '../store/watch.ts'
import type { KeyCheck } from './key-check.ts'
import { deltaOf, forget, formatDelta, formatEvent, KEEP_ALIVE, OPENING, PAGE_BYTES } from './sse.ts'
import { encodePlaces, type Places, tailOf } from './stream-cursor.ts'
import { Wake } from './wake.ts'

const PAGE = { limit: 200, bytes: PAGE_BYTES }

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
}

/**
 * As `followRun`, of many runs with one statement each time it wakes. It ends without an end message where there are more runs
 * than it may follow: who comes back for the rest is told so.
 */
export async function* followRuns(
  db: Db,
  watch: Watch,
  options: FollowManyOptions,
): AsyncGenerator<ManyItem> {
  const { places, since, signal, key } = options
  const wake = new Wake(signal)
  const watched = new Watched(watch, wake)
  const texts = new OpenTexts()
  try {
    while (!signal.aborted) {
      if (!(await key.isStillAllowed())) return
      wake.clear()
      const { logs, events } = await readLogs(db, options, places, since, PAGE)
      if (logs.filter((log) => log.shown).length > MOST_FOLLOWED) return
      forgetOthers(places, logs)
      for (const { run_id, after } of logs) {
        places.set(tailOf(run_id), after)
        watched.add(run_id)
      }
      for (const event of events) {
        texts.forget(event)
        places.set(tailOf(event.run_id), event.sequence)
        yield { kind: 'event', event, cursor: encodePlaces(places) }
      }
      if (!logs.every((log) => isRead(log, places))) continue
      if (!options.follow && logs.every((log) => log.settled)) {
        yield { kind: 'end', cursor: encodePlaces(places) }
        return
      }
      for (const log of logs) yield* texts.deltas(log)
      if (!(await wake.wait(key.wait_ms()))) yield { kind: 'keep-alive' }
    }
  } finally {
    watched.close()
    wake.close()
  }
}

/** Whether all of these runs have ended, and a reader at these places has all of them. */
export async function haveAll(
  db: Db,
  { places, since, ...followed }: Followed & Pick<FollowManyOptions, 'places' | 'since'>,
): Promise<boolean> {
  const { logs, events } = await readLogs(db, followed, places, since, PAGE)
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

/** The runs whose changes wake the stream. */
class Watched {
  readonly #watch: Watch
  readonly #wake: Wake
  readonly #runs = new Map<string, () => void>()

  constructor(watch: Watch, wake: Wake) {
    this.#watch = watch
    this.#wake = wake
  }
  add(run_id: string): void {
    if (this.#runs.has(run_id)) return
    const stop = this.#watch.onRun(run_id, () => this.#wake.set())
    this.#runs.set(run_id, stop)
    // For what was stored between reading and watching.
    this.#wake.set()
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
