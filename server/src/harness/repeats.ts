import type { EventData, NewEvent } from '../contract/event.ts'
import type { Outcome } from './harness.ts'
import { withoutPlace } from './keep-output.ts'

/** Calls that follow each other, alike in name, input and result: from the third on the agent is told, at the tenth it ends. */
const TOLD_AT = 3
const ENDED_AT = 10
const TOLD =
  '\n[You have made this very call with this very result several times in a row. Nothing will change by itself: do something else, or say what is in the way.]'

export const IN_CIRCLES: Outcome = {
  state: 'FAILED',
  status_message: {
    message: `The agent made the same call with the same result ${ENDED_AT} times in a row. A follow-up can tell it what to do instead.`,
    retryable: false,
  },
}

/** How many of the last calls are alike; 0 where the user has spoken since */
export function countRepeats(log: readonly NewEvent[]): number {
  const calls = new Map<string, EventData<'tool.call'>>()
  let results: Array<EventData<'tool.result'>> = []
  for (const { type, data } of log) {
    if (type === 'message.user') results = []
    else if (type === 'tool.call') calls.set(data.tool_call_id, data)
    else if (type === 'tool.result') results.push(data)
  }
  // Only the last ones are put together: outputs are long, and this is asked at each step.
  const describe = ({ tool_call_id, output = '', exit_code }: EventData<'tool.result'>): string => {
    const call = calls.get(tool_call_id)
    return JSON.stringify([call?.name, call?.input, withoutPlace(output.replace(TOLD, '')), exit_code])
  }
  const last = results.at(-1)
  const made = last && describe(last)
  const other = results.findLastIndex((result) => describe(result) !== made)
  return results.length - 1 - other
}

export const goesInCircles = (log: readonly NewEvent[]): boolean => countRepeats(log) >= ENDED_AT

/** What the agent is told with the result of a call. */
export const warnOfRepeats = (count: number, output: string): string =>
  count >= TOLD_AT ? output + TOLD : output
