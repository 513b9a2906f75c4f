import { RunyardError } from './errors.ts'
import { Progress } from './progress.ts'
import type { RunStreamEvent } from './schemas.ts'
import { type ConnectionOptions, followStream, type StreamSource } from './stream.ts'
import type { Transport } from './transport.ts'

/** Which runs, by `run_ids` or `ancestor_run_id` or both, and what of them. */
export interface StreamManyOptions extends ConnectionOptions {
  /** At most 200. */
  run_ids?: readonly string[] | undefined
  /** The runs below this one, at any depth, and those that appear there meanwhile. */
  ancestor_run_id?: string | undefined
  /** Only what happened after this moment, or what follows the `cursor` of an earlier stream over these runs. */
  since?: Date | string | undefined
  /** Go on after the end of all runs: a follow-up may start one again. */
  follow?: boolean | undefined
}

/** The events of several runs: those of each in order and once. Every event says its `run_id`. */
export class ManyRunsStream implements AsyncIterable<RunStreamEvent> {
  /** Where the reader is, for `since`; undefined before the first event of a log. */
  cursor: string | undefined
  readonly #events: AsyncGenerator<RunStreamEvent, void, undefined>

  constructor(
    transport: Transport,
    { run_ids, ancestor_run_id, since, follow, ...options }: StreamManyOptions,
  ) {
    const logs = new Map<string, Progress>()
    const source: StreamSource = {
      path: '/agent/events/stream',
      describe: () => 'the events of several runs broke off; going on after the last one',
      query: () => ({
        ...(run_ids ? { run_ids: [...run_ids] } : {}),
        ...(ancestor_run_id === undefined ? {} : { ancestor_run_id }),
        since: this.cursor ?? since,
        ...(follow ? { follow } : {}),
      }),
      accept: (message) => {
        const run_id = runOf(message.data)
        const log = logs.get(run_id) ?? new Progress(0)
        logs.set(run_id, log)
        const event = log.accept(message)
        if (event && 'sequence' in event && message.last_event_id) this.cursor = message.last_event_id
        return event
      },
    }
    this.#events = followStream(transport, source, options)
  }

  [Symbol.asyncIterator](): AsyncGenerator<RunStreamEvent, void, undefined> {
    return this.#events
  }
}

function runOf(data: string): string {
  try {
    const { run_id } = JSON.parse(data) as { run_id?: unknown }
    return String(run_id)
  } catch (cause) {
    throw new RunyardError('The event stream holds something that is not JSON.', { cause })
  }
}
