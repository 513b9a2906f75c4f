import type { NewEvent } from '../contract/event.ts'
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

/** How many of the last calls are alike; 0 where the user has spoken since. */
export function countRepeats(log: readonly NewEvent[]): number {
  const calls = new Map<string, string>()
  let last = ''
  let count = 0
  for (const event of log) {
    if (event.type === 'message.user') {
      last = ''
      count = 0
    } else if (event.type === 'tool.call') {
      const { tool_call_id, name, input } = event.data
      calls.set(tool_call_id, JSON.stringify([name, input]))
    } else if (event.type === 'tool.result') {
      const { tool_call_id, output = '', exit_code } = event.data
      const made = JSON.stringify([
        calls.get(tool_call_id),
        withoutPlace(output.replace(TOLD, '')),
        exit_code,
      ])
      count = made === last ? count + 1 : 1
      last = made
    }
  }
  return count
}

export const goesInCircles = (log: readonly NewEvent[]): boolean => countRepeats(log) >= ENDED_AT

/** What the agent is told with the result of a call. */
export const warnOfRepeats = (count: number, output: string): string =>
  count >= TOLD_AT ? output + TOLD : output
