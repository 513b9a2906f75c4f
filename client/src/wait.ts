import { sleep } from './abort.ts'
import { APIError, APIUserAbortError, RunyardError } from './errors.ts'
import { runPath } from './path.ts'
import { checkLimits } from './prepare.ts'
import { requestJson } from './request.ts'
import { isRetryable, retryDelay } from './retry.ts'
import { isTerminal, type RunItem } from './schemas.ts'
import { BrokenStreamError, streamRun } from './stream.ts'
import type { RequestOptions, Transport } from './transport.ts'

const POLL_MS = 2_000
/** How often in a row `runs.wait` finds the service away before it gives up: about five minutes with the pauses. */
export const MAX_RECONNECTS = 30
const MOST_LOOKS_BETWEEN = 32

export interface WatchOptions extends Omit<RequestOptions, 'idempotencyKey'> {
  maxReconnects?: number | undefined
}

const isSettled = ({ state }: RunItem): boolean => isTerminal(state) || state === 'BLOCKED'

/** Looks at a run until it has ended or waits for a person. Its event stream only says when to look. */
export class RunWatch {
  readonly #transport: Transport
  readonly #run_id: string
  readonly #options: RequestOptions
  readonly #max_reconnects: number
  #after = 0
  /** Looks to be made before the stream is tried again, and as many the next time that it is refused. */
  #looks_between = 0
  #looks_left = 0

  constructor(transport: Transport, run_id: string, { maxReconnects, ...options }: WatchOptions) {
    checkLimits({ maxReconnects })
    this.#transport = transport
    this.#run_id = run_id
    this.#options = options
    this.#max_reconnects = maxReconnects ?? MAX_RECONNECTS
  }

  /** `is_new`: it was made just now, so there is no need to look first. */
  async untilSettled(is_new: boolean): Promise<RunItem> {
    let run = is_new ? undefined : await this.#look()
    for (let round = 0; !run || !isSettled(run); round += 1) {
      if (round > 0) await sleep(POLL_MS * (1 - 0.25 * Math.random()), this.#options.signal)
      await this.#follow()
      run = await this.#look()
    }
    return run
  }

  /** Patient: the service may be away for a while, to be updated for example. */
  async #look(): Promise<RunItem> {
    const call = { method: 'GET', path: runPath(this.#run_id) } as const
    for (let failures = 0; ; failures += 1) {
      try {
        const run = await requestJson<RunItem | undefined>(this.#transport, call, this.#options)
        if (run?.state !== undefined) return run
        throw new RunyardError('The answer is not a run. Is baseURL right?')
      } catch (error) {
        if (!isRetryable(error) || failures >= this.#max_reconnects) throw error
        await sleep(retryDelay(error, failures), this.#options.signal)
      }
    }
  }

  /** Follows one connection as long as the run cannot have settled. */
  async #follow(): Promise<void> {
    if (this.#looks_left > 0) {
      this.#looks_left -= 1
      return
    }
    const options = { ...this.#options, after: this.#after, maxReconnects: 0, maxRetries: 0 }
    try {
      for await (const event of streamRun(this.#transport, this.#run_id, options)) {
        if ('sequence' in event) this.#after = event.sequence
        // It may have gone on since; then the stream is read on after a pause, since the log may hold many of these.
        if (event.type === 'run.state' && event.data.state === 'BLOCKED') break
      }
      this.#looks_between = 0
    } catch (error) {
      const is_final =
        error instanceof APIUserAbortError || (error instanceof APIError && !isRetryable(error))
      if (is_final) throw error
      this.#looks_between = this.#nextPause(error)
    }
    this.#looks_left = this.#looks_between
  }

  /** Where something in between holds streams back, or answers in their place, looking now and then has to do. */
  #nextPause(error: unknown): number {
    const { was_good = false, was_silent = false } = error instanceof BrokenStreamError ? error : {}
    if (was_good) return 0
    if (was_silent || !isRetryable(error)) return Number.POSITIVE_INFINITY
    return Math.min(this.#looks_between * 2 || 1, MOST_LOOKS_BETWEEN)
  }
}
