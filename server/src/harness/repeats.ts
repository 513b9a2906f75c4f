import type { EventData, NewEvent } from '../contract/event.ts'
import { isInterrupted } from '../log/interruption.ts'
import { STILL_RUNS } from './background-commands.ts'
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

/** How many of the last calls of a log are alike, event after event: what is long is looked at once. */
export class Repeats {
  readonly #calls = new Map<string, EventData<'tool.call'>>()
  #last = ''
  /** 0 where the user has spoken since. */
  #count = 0

  add(event: NewEvent): void {
    if (event.type === 'message.user') this.#count = 0
    else if (event.type === 'tool.call') this.#calls.set(event.data.tool_call_id, event.data)
    // Of a call that never began, or that was cut off, nothing is known to be alike.
    else if (event.type === 'tool.result' && !isInterrupted(event.data)) {
      this.#count = this.countWith(event.data)
      this.#last = this.#describe(event.data)
    }
  }

  /** As if this had been added. */
  countWith(result: EventData<'tool.result'>): number {
    // To ask again is all that can be done meanwhile; the limit of steps holds all the same.
    if (this.#calls.get(result.tool_call_id)?.name === 'bash_output' && STILL_RUNS.test(result.output ?? ''))
      return 0
    return this.#count > 0 && this.#describe(result) === this.#last ? this.#count + 1 : 1
  }

  get goes_in_circles(): boolean {
    return this.#count >= ENDED_AT
  }

  #describe({ tool_call_id, output = '', exit_code }: EventData<'tool.result'>): string {
    const call = this.#calls.get(tool_call_id)
    return JSON.stringify([call?.name, call?.input, withoutPlace(output.replace(TOLD, '')), exit_code])
  }
}

/** What the agent is told with the result of a call. */
export const warnOfRepeats = (count: number, output: string): string =>
  count >= TOLD_AT ? output + TOLD : output
