import { RunFailedError } from './errors.ts'
import { type RequestOptions, request, requestJson, type Transport } from './request.ts'
import { isRetryable, sleep } from './retry.ts'
import { RunList } from './run-list.ts'
import {
  type Conversation,
  type InterruptResponse,
  isTerminal,
  type ListEventsParams,
  type ListEventsResponse,
  type ListRunsParams,
  type RunAgentRequest,
  type RunAgentResponse,
  type RunFollowupRequest,
  type RunFollowupResponse,
  type RunItem,
  type RunStreamEvent,
} from './schemas.ts'
import { type StreamOptions, streamRun } from './stream.ts'

const POLL_MS = 2_000

export interface WaitOptions {
  signal?: AbortSignal | undefined
  /** Throw `RunFailedError` when the run ends as FAILED, ERROR or CANCELLED; default true. */
  throw_on_failure?: boolean | undefined
}

/** `client.runs` */
export class Runs {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Asks for a run. Safe against lost answers: however often it has to be sent, there is one run. */
  create(run: RunAgentRequest, options?: RequestOptions): Promise<RunAgentResponse> {
    return requestJson(this.#transport, { method: 'POST', path: '/agent/runs', body: run }, options)
  }

  retrieve(run_id: string, options?: RequestOptions): Promise<RunItem> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(run_id) }, options)
  }

  /** `for await (const run of runs.list())` goes through all pages; `await runs.list()` is the first one. */
  list(params: ListRunsParams = {}, options?: RequestOptions): RunList {
    return new RunList(this.#transport, params, options)
  }

  /** Cancels a run and returns its id. A run that has ended already: `BadRequestError`. */
  cancel(run_id: string, options?: RequestOptions): Promise<string> {
    return requestJson(this.#transport, { method: 'POST', path: `${pathOf(run_id)}/cancel` }, options)
  }

  /** Stops what the agent is doing now and keeps the run and its sandbox. */
  interrupt(run_id: string, options?: RequestOptions): Promise<InterruptResponse> {
    return requestJson(this.#transport, { method: 'POST', path: `${pathOf(run_id)}/interrupt` }, options)
  }

  /** Sends a message to the agent, whatever the run is doing. */
  followup(
    run_id: string,
    followup: RunFollowupRequest,
    options?: RequestOptions,
  ): Promise<RunFollowupResponse> {
    const path = `${pathOf(run_id)}/followups`
    return requestJson(this.#transport, { method: 'POST', path, body: followup }, options)
  }

  /** A page of the stored log. */
  events(
    run_id: string,
    params: ListEventsParams = {},
    options?: RequestOptions,
  ): Promise<ListEventsResponse> {
    return requestJson(
      this.#transport,
      { method: 'GET', path: `${pathOf(run_id)}/events`, query: params },
      options,
    )
  }

  /** The log from `after` on, then live, until the run has ended. Survives lost connections without loss or repeats. */
  stream(run_id: string, options?: StreamOptions): AsyncGenerator<RunStreamEvent, void, undefined> {
    return streamRun(this.#transport, run_id, options)
  }

  conversation(run_id: string, options?: RequestOptions): Promise<Conversation> {
    return requestJson(this.#transport, { method: 'GET', path: `${pathOf(run_id)}/conversation` }, options)
  }

  /** The whole log as JSON Lines. */
  transcript(run_id: string, options?: RequestOptions): Promise<string> {
    const call = {
      method: 'GET',
      path: `${pathOf(run_id)}/transcript`,
      accept: '*/*',
      follow_redirects: true,
    } as const
    return request(this.#transport, call, options, (response) => response.text())
  }

  /** Waits until the run has ended or waits for a person (BLOCKED), and returns it. */
  async wait(run_id: string, options: WaitOptions = {}): Promise<RunItem> {
    const { signal, throw_on_failure = true } = options
    for (let streams = true; ; ) {
      // The stream only says when to look. Where something in between holds streams back, looking now and then will do.
      if (streams) streams = await this.#followUntilSettled(run_id, signal)
      const run = await this.retrieve(run_id, { signal })
      if (throw_on_failure && isTerminal(run.state) && run.state !== 'SUCCEEDED')
        throw new RunFailedError(run)
      if (isTerminal(run.state) || run.state === 'BLOCKED') return run
      await sleep(POLL_MS, signal)
    }
  }

  /** False when the stream does not work. */
  async #followUntilSettled(run_id: string, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      for await (const event of this.stream(run_id, { signal, max_reconnects: 1 })) {
        if (event.type !== 'run.state' || event.data.state !== 'BLOCKED') continue
        if ((await this.retrieve(run_id, { signal })).state === 'BLOCKED') return true
      }
      return true
    } catch (error) {
      if (isRetryable(error)) return false
      throw error
    }
  }
}

const pathOf = (run_id: string): string => `/agent/runs/${encodeURIComponent(run_id)}`
