import type { EventData, NewEvent } from '../contract/event.ts'

/** Calls whose effects a workspace that holds everything up to `sequence` does not hold, or only in part: they ended later or never. */
export function findLostCalls(
  history: ReadonlyArray<NewEvent & { sequence: number }>,
  sequence: number,
): Array<EventData<'tool.call'>> {
  const ended = new Set<string>()
  for (const event of history)
    if (event.type === 'tool.result' && event.sequence <= sequence) ended.add(event.data.tool_call_id)
  return history.flatMap((event) =>
    event.type === 'tool.call' && !ended.has(event.data.tool_call_id) ? [event.data] : [],
  )
}
