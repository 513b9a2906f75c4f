/** One thing of an event stream, in the order in which they happen. */
export type StreamItem =
  | { sequence: number; type: string; data: unknown }
  /** Text on its way; without an offset it follows what the message has. */
  | { message_id: string; delta: string; offset?: number }
  | { comment: string }
  /** Sent as it is. */
  | { raw: string }
  | { end: true }

interface Reader {
  /** The last sequence the reader has. */
  after: number
  /** Not its first connection. */
  returned: boolean
  retry_ms: number
  newline: string
}

/**
 * The stream that this reader gets, as the service would send it: what follows `after`, and of messages that are not
 * complete by then the text from the start, to a reader who has returned in one piece. Offsets count UTF-16 units.
 */
export function formatEvents(items: StreamItem[], reader: Reader): string {
  const lines: string[] = [`retry: ${reader.retry_ms}`, '']
  const open = new Map<string, number>()
  for (const item of reader.returned ? joinDeltas(items) : items) {
    if ('raw' in item) lines.push(item.raw)
    else if ('comment' in item) lines.push(`: ${item.comment}`, '')
    else if ('end' in item) lines.push('event: end', 'data: {"run_id":"r1","last_sequence":0}', '')
    else if ('delta' in item) {
      if (isComplete(items, item.message_id, reader.after)) continue
      const offset = item.offset ?? open.get(item.message_id) ?? 0
      open.set(item.message_id, offset + item.delta.length)
      const data = { run_id: 'r1', message_id: item.message_id, offset, text: item.delta }
      lines.push('event: message.assistant.delta', `data: ${JSON.stringify(data)}`, '')
    } else if (item.sequence > reader.after) {
      const { sequence, type, data } = item
      const event = { sequence, run_id: 'r1', type, occurred_at: '2026-01-01T00:00:00.000Z', data }
      lines.push(`id: ${sequence}`, `event: ${type}`, `data: ${JSON.stringify(event)}`, '')
    }
  }
  return lines.map((line) => line + reader.newline).join('')
}

/** Whether the event that holds the whole message is among those the reader has. */
const isComplete = (items: StreamItem[], message_id: string, after: number): boolean =>
  items.some(
    (item) =>
      'sequence' in item &&
      item.sequence <= after &&
      (item.data as { message_id?: string }).message_id === message_id,
  )

/** Neighbouring pieces of a message as one. */
function joinDeltas(items: StreamItem[]): StreamItem[] {
  const joined: StreamItem[] = []
  for (const item of items) {
    const last = joined.at(-1)
    const continues = last && 'delta' in last && 'delta' in item && last.message_id === item.message_id
    if (continues && item.offset === undefined) {
      joined[joined.length - 1] = { ...last, delta: last.delta + item.delta }
    } else joined.push(item)
  }
  return joined
}
