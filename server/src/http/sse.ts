import type { MessageDelta, RunEvent } from '../contract/event.ts'
import type { Db } from '../store/db.ts'
import { type OpenMessage, readLog } from '../store/events.ts'
import type { KeyCheck } from './key-check.ts'
import type { LogTails } from './log-tails.ts'
import { Wake } from './wake.ts'

/** What a stream may hold for a reader that does not read. */
export const PAGE_BYTES = 256 * 1024

export type StreamItem =
  | { kind: 'event'; event: RunEvent }
  | { kind: 'delta'; delta: MessageDelta }
  | { kind: 'keep-alive' }
  | { kind: 'end'; last_sequence: number }

export interface FollowOptions {
  run_id: string
  /** The last sequence the reader has. */
  after: number
  /** Go on after the run's end: a follow-up may start it again. */
  follow: boolean
  /** Ends the stream. */
  signal: AbortSignal
  /** Ends the stream, too. */
  key: KeyCheck
}

/**
 * Everything after `after`, then whatever comes, in order and once. It subscribes before it reads, so nothing falls
 * between; a reader that is slow makes the generator wait, not the service's memory grow.
 */
export async function* followRun(tails: LogTails, options: FollowOptions): AsyncGenerator<StreamItem> {
  const wake = new Wake(options.signal)
  const stop = tails.follow(options.run_id, () => wake.set())
  const sent = new Map<string, number>()
  const { key } = options
  let cursor = options.after
  try {
    while (!options.signal.aborted) {
      if (!(await key.isStillAllowed())) return
      wake.clear()
      const page = await tails.read(options.run_id, cursor)
      if (!page) return
      for (const event of page.events) {
        forget(event, sent)
        cursor = event.sequence
        yield { kind: 'event', event }
      }
      if (page.has_more) continue
      if (page.settled && cursor >= page.last_sequence && !options.follow) {
        yield { kind: 'end', last_sequence: cursor }
        return
      }
      yield* page.open
        .flatMap((message) => deltaOf(message, sent))
        .map((delta) => ({ kind: 'delta', delta }) as const)
      if (!(await wake.wait(key.wait_ms()))) yield { kind: 'keep-alive' }
    }
  } finally {
    stop()
    wake.close()
  }
}

/** Whether the run has ended, and a reader at `after` has all of it. */
export async function hasAll(db: Db, run_id: string, after: number): Promise<boolean> {
  const page = await readLog(db, run_id, after, 1)
  return page?.settled === true && after >= page.last_sequence
}

/** What of an open message the reader has not seen; all of it, the first time. */
export function deltaOf({ message_id, text }: OpenMessage, sent: Map<string, number>): MessageDelta[] {
  const offset = sent.get(message_id) ?? 0
  if (text.length <= offset) return []
  sent.set(message_id, text.length)
  return [{ message_id, offset, text: text.slice(offset) }]
}

/** A completed message has no text on its way any more; a lost attempt's messages are void. */
export function forget(event: RunEvent, sent: Map<string, number>): void {
  if (event.type === 'message.assistant') sent.delete(event.data.message_id)
  if (event.type === 'attempt.lost' || event.type === 'debug.ended') sent.clear()
}

/** Says at once that the stream is open, and how soon to come back when it breaks. */
export const OPENING = 'retry: 1000\n\n'
export const KEEP_ALIVE = ': keep-alive\n\n'

/** JSON has no raw line breaks, so `data` is one line. */
export const formatEvent = (event: RunEvent, id: string | number): string =>
  `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

export const formatDelta = (run_id: string, delta: MessageDelta): string =>
  `event: message.assistant.delta\ndata: ${JSON.stringify({ run_id, ...delta })}\n\n`

/** Server-sent events as text (HTML standard, section 9.2). */
export async function* formatStream(
  items: AsyncIterable<StreamItem>,
  run_id: string,
): AsyncGenerator<string> {
  yield OPENING
  for await (const item of items) {
    if (item.kind === 'event') yield formatEvent(item.event, item.event.sequence)
    else if (item.kind === 'delta') yield formatDelta(run_id, item.delta)
    else if (item.kind === 'end') {
      // With an id, so that who had nothing to read before it comes back with one as well.
      yield `id: ${item.last_sequence}\nevent: end\ndata: ${JSON.stringify({ run_id, last_sequence: item.last_sequence })}\n\n`
    } else yield KEEP_ALIVE
  }
}
