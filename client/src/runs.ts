import { sleep } from './abort.ts'
import type { APIPromise } from './api-promise.ts'
import { RunFailedError } from './errors.ts'
import {
  type FinishedRun,
  isOutputSchema,
  type JsonSchema,
  type OutputSchema,
  parseResult,
  toJsonSchema,
} from './output-schema.ts'
import { type RequestOptions, requestAnd, requestJson, type Transport } from './request.ts'
import { isRetryable } from './retry.ts'
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

/** What a run is asked for with. `output_schema` is JSON Schema, or an object that has one, such as a Zod schema. */
export type CreateRunParams<S extends JsonSchema | OutputSchema = JsonSchema | OutputSchema> = Omit<
  RunAgentRequest,
  'output_schema'
> & { output_schema?: S }

/** `timeout` and `maxRetries` are those of each request; the wait itself ends with the run or with `signal`. */
export interface WaitOptions extends Omit<RequestOptions, 'idempotencyKey' | 'query'> {
  /** Throw `RunFailedError` when the run ends as FAILED, ERROR or CANCELLED; default true. */
  throwOnFailure?: boolean | undefined
}

/** `client.runs` */
export class Runs {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Asks for a run. Safe against lost answers: however often it has to be sent, there is one run. */
  create(run: CreateRunParams, options?: RequestOptions): APIPromise<RunAgentResponse> {
    const { output_schema } = run
    const body = output_schema ? { ...run, output_schema: toJsonSchema(output_schema) } : run
    return requestJson(this.#transport, { method: 'POST', path: '/agent/runs', body }, options)
  }

  /**
   * `create` and `wait` in one. With an `output_schema` that can check values, the run's `result` is checked and typed:
   *
   *     const run = await client.runs.createAndWait({ prompt, output_schema: z.object({ fixed: z.boolean() }) })
   *     if (run.state === 'SUCCEEDED') console.log(run.result.fixed)
   */
  createAndWait<T>(
    run: CreateRunParams<OutputSchema<T>> & { output_schema: OutputSchema<T> },
    options?: RequestOptions & WaitOptions,
  ): Promise<FinishedRun<T>>
  createAndWait(run: CreateRunParams<JsonSchema>, options?: RequestOptions & WaitOptions): Promise<RunItem>
  async createAndWait(
    run: CreateRunParams,
    options: RequestOptions & WaitOptions = {},
  ): Promise<RunItem | FinishedRun<unknown>> {
    const { throwOnFailure: _, ...forCreate } = options
    const { run_id } = await this.create(run, forCreate)
    const { output_schema } = run
    const { idempotencyKey: __, query: ___, ...forWait } = options
    return output_schema && isOutputSchema(output_schema)
      ? this.wait(run_id, { ...forWait, output_schema })
      : this.wait(run_id, forWait)
  }

  retrieve(run_id: string, options?: RequestOptions): APIPromise<RunItem> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(run_id) }, options)
  }

  /** `for await (const run of runs.list())` goes through all pages; `await runs.list()` is the first one. */
  list(params: ListRunsParams = {}, options?: RequestOptions): RunList {
    return new RunList(this.#transport, params, options)
  }

  /** Cancels a run and returns its id. A run that has ended already: `BadRequestError`. */
  cancel(run_id: string, options?: RequestOptions): APIPromise<string> {
    return requestJson(this.#transport, { method: 'POST', path: `${pathOf(run_id)}/cancel` }, options)
  }

  /** Stops what the agent is doing now and keeps the run and its sandbox. */
  interrupt(run_id: string, options?: RequestOptions): APIPromise<InterruptResponse> {
    return requestJson(this.#transport, { method: 'POST', path: `${pathOf(run_id)}/interrupt` }, options)
  }

  /** Sends a message to the agent, whatever the run is doing. */
  followup(
    run_id: string,
    followup: RunFollowupRequest,
    options?: RequestOptions,
  ): APIPromise<RunFollowupResponse> {
    const path = `${pathOf(run_id)}/followups`
    return requestJson(this.#transport, { method: 'POST', path, body: followup }, options)
  }

  /** A page of the stored log. */
  events(
    run_id: string,
    params: ListEventsParams = {},
    options?: RequestOptions,
  ): APIPromise<ListEventsResponse> {
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

  conversation(run_id: string, options?: RequestOptions): APIPromise<Conversation> {
    return requestJson(this.#transport, { method: 'GET', path: `${pathOf(run_id)}/conversation` }, options)
  }

  /** The whole log as JSON Lines. */
  transcript(run_id: string, options?: RequestOptions): APIPromise<string> {
    const call = { method: 'GET', path: `${pathOf(run_id)}/transcript`, accept: '*/*' } as const
    return requestAnd(this.#transport, call, options, (response) => response.text())
  }

  /**
   * Waits until the run has ended or waits for a person (BLOCKED), and returns it. With the `output_schema` it was made
   * with, its `result` is checked and typed.
   */
  wait<T>(run_id: string, options: WaitOptions & { output_schema: OutputSchema<T> }): Promise<FinishedRun<T>>
  wait(run_id: string, options?: WaitOptions): Promise<RunItem>
  async wait(
    run_id: string,
    options: WaitOptions & { output_schema?: OutputSchema } = {},
  ): Promise<RunItem | FinishedRun<unknown>> {
    const { throwOnFailure = true, output_schema, ...forRequests } = options
    const run = await this.#waitUntilSettled(run_id, forRequests)
    const failed = isTerminal(run.state) && run.state !== 'SUCCEEDED'
    if (throwOnFailure && failed) throw new RunFailedError(run)
    return output_schema ? parseResult(run, output_schema) : run
  }

  async #waitUntilSettled(run_id: string, options: RequestOptions): Promise<RunItem> {
    for (let streams = true; ; ) {
      // The stream only says when to look. Where something in between holds streams back, looking now and then will do.
      if (streams) streams = await this.#followUntilSettled(run_id, options)
      const run = await this.retrieve(run_id, options)
      if (isTerminal(run.state) || run.state === 'BLOCKED') return run
      await sleep(POLL_MS, options.signal)
    }
  }

  /** False when the stream does not work. */
  async #followUntilSettled(run_id: string, options: RequestOptions): Promise<boolean> {
    const { signal, timeout, headers } = options
    try {
      for await (const event of this.stream(run_id, { signal, timeout, headers, maxReconnects: 1 })) {
        if (event.type !== 'run.state' || event.data.state !== 'BLOCKED') continue
        if ((await this.retrieve(run_id, options)).state === 'BLOCKED') return true
      }
      return true
    } catch (error) {
      if (isRetryable(error)) return false
      throw error
    }
  }
}

const pathOf = (run_id: string): string => `/agent/runs/${encodeURIComponent(run_id)}`
