/** Server-sent events as text (HTML standard, section 9.2), and what of a log becomes one. */
import type { MessageDelta, RunEvent } from '../contract/event.ts'
import type { Db } from '../store/db.ts'
import { type OpenMessage, readLog } from '../store/events.ts'

/** What a stream may hold for a reader that does not read. */
export const PAGE_BYTES = 256 * 1024

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

/** The last message of a stream. Its id lets a reader who had nothing to read before it come back with one as well. */
export const formatEnd = (run_id: string, last_sequence: number): string =>
  `id: ${last_sequence}\nevent: end\ndata: ${JSON.stringify({ run_id, last_sequence })}\n\n`
