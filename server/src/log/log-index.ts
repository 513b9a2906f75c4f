import type { EventData, NewEvent } from '../contract/event.ts'

/** What later events say about earlier ones, by id. */
export interface LogIndex {
  /** The last text of each message: one stored again under its id, such as the empty text that takes it back, replaces it. */
  texts: Map<string, string>
  results: Map<string, EventData<'tool.result'>>
  /** What each call printed; its end, where a limit was given. */
  outputs: Map<string, string>
}

/** `output_characters`: of each call's output that many at the end are kept. */
export function indexLog(log: readonly NewEvent[], output_characters = Number.POSITIVE_INFINITY): LogIndex {
  const index: LogIndex = { texts: new Map(), results: new Map(), outputs: new Map() }
  for (const { type, data } of log) {
    if (type === 'message.assistant' || type === 'reasoning') index.texts.set(data.message_id, data.text)
    else if (type === 'tool.result') index.results.set(data.tool_call_id, data)
    else if (type === 'tool.output') {
      const text = (index.outputs.get(data.tool_call_id) ?? '') + data.text
      // Not after each event: one may be a single character.
      const too_long = text.length > 2 * output_characters
      index.outputs.set(data.tool_call_id, too_long ? text.slice(-output_characters) : text)
    }
  }
  if (output_characters !== Number.POSITIVE_INFINITY)
    for (const [id, text] of index.outputs) index.outputs.set(id, text.slice(-output_characters))
  return index
}
