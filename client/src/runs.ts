import type { APIPromise } from './api-promise.ts'
import { prepareAttachments, type UploadFile, uploadAttachments } from './attachments.ts'
import { RunFailedError, RunyardError } from './errors.ts'
import { ConversationPages, RunList } from './lists.ts'
import {
  type FinishedRun,
  isOutputSchema,
  type JsonSchema,
  type OutputSchema,
  parseResult,
  toJsonSchema,
} from './output-schema.ts'
import { runPath } from './path.ts'
import { checkLimits } from './prepare.ts'
import { requestJson, requestText } from './request.ts'
import {
  type AnswerApprovalRequest,
  type AnswerApprovalResponse,
  type ConversationParams,
  type DeleteRunParams,
  type DeleteRunResponse,
  type DeleteRunsParams,
  type DeleteRunsResponse,
  type DiffParams,
  type FollowupAttachment,
  type HandoffAttachmentsResponse,
  type InterruptResponse,
  isTerminal,
  type ListEventsParams,
  type ListEventsResponse,
  type ListPullRequestsResponse,
  type ListRunsParams,
  type MergePullRequestParams,
  type PrepareAttachmentsRequest,
  type PrepareAttachmentsResponse,
  type PullRequestItem,
  type RunAgentRequest,
  type RunAgentResponse,
  type RunDiff,
  type RunFollowupRequest,
  type RunFollowupResponse,
  type RunHarnessUsage,
  type RunItem,
  type RunReference,
  type RunReferenceParams,
  type RunStreamEvent,
  type RunTimeline,
  type UpdateRunRequest,
} from './schemas.ts'
import { type StreamOptions, streamRun } from './stream.ts'
import { ManyRunsStream, type StreamManyOptions } from './stream-many.ts'
import type { RequestOptions, Transport } from './transport.ts'
import { RunWatch } from './wait.ts'

/** What a run is asked for with. `output_schema` is JSON Schema, or an object that has one, such as a Zod schema. */
export type CreateRunParams<S extends JsonSchema | OutputSchema = JsonSchema | OutputSchema> = Omit<
  RunAgentRequest,
  'output_schema'
> & { output_schema?: S | undefined }

/** What a replay does otherwise than the run that it does again. */
export type ReplayRunParams = Omit<CreateRunParams, 'replay_of_run_id' | 'fork_of'>

/** What a fork is asked for with, and from which turn: any event's `sequence`, or the number of its messages. */
export type ForkRunParams = Omit<CreateRunParams, 'replay_of_run_id' | 'fork_of' | 'conversation_id'> & {
  sequence?: number | undefined
  turn?: number | undefined
}

/** `timeout` and `maxRetries` are those of each request; the wait itself ends with the run or with `signal`. */
export interface WaitOptions extends Omit<RequestOptions, 'idempotencyKey'> {
  /** Throw `RunFailedError` when the run ends as FAILED, ERROR or CANCELLED; default true. */
  throwOnFailure?: boolean | undefined
  /** How often in a row the service may be away when it is asked for the run; default 30, about five minutes. */
  maxReconnects?: number | undefined
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
    const build = () => {
      const body = output_schema ? { ...run, output_schema: toJsonSchema(output_schema) } : run
      return { method: 'POST', path: '/agent/runs', body } as const
    }
    return requestJson(this.#transport, build, options)
  }

  /**
   * Does an earlier run again: what `overrides` leave out is taken over from it, `config` field by field. A run of its own, as
   * `create` makes it.
   */
  replay(
    run_id: string,
    overrides: ReplayRunParams = {},
    options?: RequestOptions,
  ): APIPromise<RunAgentResponse> {
    return this.create({ ...overrides, replay_of_run_id: run_id }, options)
  }

  /**
   * Goes on from the end of a turn of an earlier run, its last one by default, with the conversation up to there and the
   * workspace as it was. What `params` leave out is taken over, but for the prompt and the skill. The earlier run stays as it is.
   * A turn whose workspace is not kept any more: `ConflictError`, which names those that are.
   */
  fork(
    run_id: string,
    { sequence, turn, ...run }: ForkRunParams,
    options?: RequestOptions,
  ): APIPromise<RunAgentResponse> {
    const place = { ...(sequence === undefined ? {} : { sequence }), ...(turn === undefined ? {} : { turn }) }
    return this.create({ ...run, fork_of: { run_id, ...place } }, options)
  }

  /**
   * `create` and `wait` in one. What it throws after the run was made names it in `run_id`: wait for that one instead of
   * making another. With an `output_schema` that can check values, the run's `result` is checked and typed:
   *
   *     const run = await client.runs.createAndWait({ prompt, output_schema: z.object({ fixed: z.boolean() }) })
   *     if (run.state === 'SUCCEEDED') console.log(run.result.fixed)
   */
  createAndWait<T>(
    run: CreateRunParams<OutputSchema<T>> & { output_schema: OutputSchema<T> },
    options?: RequestOptions & WaitOptions,
  ): Promise<FinishedRun<T>>
  createAndWait(run: CreateRunParams<JsonSchema>, options?: RequestOptions & WaitOptions): Promise<RunItem>
  createAndWait(
    run: CreateRunParams,
    options?: RequestOptions & WaitOptions,
  ): Promise<RunItem | FinishedRun<unknown>>
  async createAndWait(
    run: CreateRunParams,
    options: RequestOptions & WaitOptions = {},
  ): Promise<RunItem | FinishedRun<unknown>> {
    const { throwOnFailure: _, maxReconnects, ...forCreate } = options
    // Before there is a run.
    checkLimits({ maxReconnects })
    const { run_id } = await this.create(run, forCreate)
    const { output_schema } = run
    const { idempotencyKey: __, ...forWait } = options
    const schema = output_schema && isOutputSchema(output_schema) ? { output_schema } : {}
    return this.#wait(run_id, { ...forWait, ...schema }, true)
  }

  /** One run in full. An id that nobody has: `NotFoundError`. */
  retrieve(run_id: string, options?: RequestOptions): APIPromise<RunItem> {
    return requestJson(this.#transport, { method: 'GET', path: runPath(run_id) }, options)
  }

  /** `for await (const run of runs.list())` goes through all pages; `await runs.list()` is the first one. */
  list(params: ListRunsParams = {}, options?: RequestOptions): RunList {
    return new RunList(this.#transport, { path: '/agent/runs', query: params }, options)
  }

  /** Cancels a run and returns its id. A run that has ended already: `BadRequestError`. */
  cancel(run_id: string, options?: RequestOptions): APIPromise<string> {
    return requestJson(this.#transport, { method: 'POST', path: runPath(run_id, 'cancel') }, options)
  }

  /** Gives a run another title. */
  update(run_id: string, changes: UpdateRunRequest, options?: RequestOptions): APIPromise<RunItem> {
    return requestJson(this.#transport, { method: 'PATCH', path: runPath(run_id), body: changes }, options)
  }

  /**
   * Deletes a run with all runs below it, for good. One that has not ended: `ConflictError`, unless it is to be cancelled first; then
   * the answer comes when its worker has stopped it, and a `ConflictError` if that takes longer than 10 seconds.
   */
  delete(
    run_id: string,
    params: DeleteRunParams = {},
    options?: RequestOptions,
  ): APIPromise<DeleteRunResponse> {
    return requestJson(
      this.#transport,
      { method: 'DELETE', path: runPath(run_id), query: { cancel: params.cancel } },
      options,
    )
  }

  /**
   * Deletes runs by the filters of `list`, 200 that match in a call: call again while `has_more`. With `dry_run` it only counts.
   * No filter is refused, unless `all` says that this is meant.
   */
  deleteMany(params: DeleteRunsParams, options?: RequestOptions): APIPromise<DeleteRunsResponse> {
    const build = () => {
      // It would be left out, and more deleted than was meant.
      const empty = Object.entries(params).find(([, value]) => value === undefined)
      if (empty) throw new RunyardError(`${empty[0]} is undefined: leave it out, or give it a value.`)
      return { method: 'POST', path: '/agent/runs/delete', body: params } as const
    }
    return requestJson(this.#transport, build, options)
  }

  /** Leaves a run out of lists that do not ask for archived ones. One that is queued or at work: `ConflictError`. */
  archive(run_id: string, options?: RequestOptions): APIPromise<RunItem> {
    return requestJson(this.#transport, { method: 'POST', path: runPath(run_id, 'archive') }, options)
  }

  unarchive(run_id: string, options?: RequestOptions): APIPromise<RunItem> {
    return requestJson(this.#transport, { method: 'POST', path: runPath(run_id, 'unarchive') }, options)
  }

  /** Stops what the agent is doing now and keeps the run and its sandbox. */
  interrupt(run_id: string, options?: RequestOptions): APIPromise<InterruptResponse> {
    return requestJson(this.#transport, { method: 'POST', path: runPath(run_id, 'interrupt') }, options)
  }

  /** Sends a message to the agent, whatever the run is doing. */
  followup(
    run_id: string,
    followup: RunFollowupRequest,
    options?: RequestOptions,
  ): APIPromise<RunFollowupResponse> {
    const call = { method: 'POST', path: runPath(run_id, 'followups'), body: followup } as const
    return requestJson(this.#transport, call, options)
  }

  /**
   * Uploads up to 25 files, and returns what the `attachments` of a follow-up to this run name them by:
   * `runs.followup(run_id, { message, attachments: await runs.uploadAttachments(run_id, { files }) })`.
   */
  uploadAttachments(
    run_id: string,
    { files }: { files: readonly UploadFile[] },
    options?: RequestOptions,
  ): Promise<FollowupAttachment[]> {
    return uploadAttachments(this.#transport, runPath(run_id), files, options)
  }

  /** The first half of `uploadAttachments`: an `upload_url` for each file, which takes it by PUT without a key. */
  prepareAttachments(
    run_id: string,
    attachments: PrepareAttachmentsRequest,
    options?: RequestOptions,
  ): APIPromise<PrepareAttachmentsResponse> {
    return prepareAttachments(this.#transport, runPath(run_id), attachments, options)
  }

  /**
   * Allows or denies the call that a BLOCKED run waits with: `status_message.approval` says which. The run goes on. One that is
   * not asked about any more: `ConflictError`.
   */
  answerApproval(
    run_id: string,
    approval_id: string,
    answer: AnswerApprovalRequest,
    options?: RequestOptions,
  ): APIPromise<AnswerApprovalResponse> {
    const path = runPath(run_id, 'approvals', approval_id)
    return requestJson(this.#transport, { method: 'POST', path, body: answer } as const, options)
  }

  /** A page of the stored log. */
  events(
    run_id: string,
    params: ListEventsParams = {},
    options?: RequestOptions,
  ): APIPromise<ListEventsResponse> {
    const call = { method: 'GET', path: runPath(run_id, 'events'), query: params } as const
    return requestJson(this.#transport, call, options)
  }

  /** The log from `after` on, then live, until the run has ended. Survives lost connections without loss or repeats. */
  stream(run_id: string, options?: StreamOptions): AsyncGenerator<RunStreamEvent, void, undefined> {
    return streamRun(this.#transport, run_id, options)
  }

  /**
   * The events of several runs in one stream, then live, until all have ended: `for await (const event of
   * runs.streamMany({ run_ids: [root], ancestor_run_id: root }))` is a run with all that it and its children create. Survives
   * lost connections without loss or repeats; `cursor` says where it is. More than 200 runs: `BadRequestError`.
   */
  streamMany(options: StreamManyOptions): ManyRunsStream {
    return new ManyRunsStream(this.#transport, options)
  }

  /**
   * What was said and done, step by step. `for await (const step of runs.conversation(run_id))` goes through all steps, each
   * whole; `await runs.conversation(run_id)` is the first page, which is all of any ordinary conversation.
   */
  conversation(run_id: string, params: ConversationParams = {}, options?: RequestOptions): ConversationPages {
    const path = runPath(run_id, 'conversation')
    return new ConversationPages(this.#transport, { path, query: params }, options)
  }

  /**
   * How the repositories of the run differ from the commits they were cloned at, after its newest turn or an earlier one. Its
   * `patch` is an artifact: `await (await artifacts.download(diff.patch.artifact_uid)).text()` is what `git apply --binary`
   * takes.
   */
  diff(run_id: string, params: DiffParams = {}, options?: RequestOptions): APIPromise<RunDiff> {
    const call = { method: 'GET', path: runPath(run_id, 'diff'), query: params } as const
    return requestJson(this.#transport, call, options)
  }

  /** When the run was created, claimed, set up, started, ended and stopped. */
  timeline(run_id: string, options?: RequestOptions): APIPromise<RunTimeline> {
    return requestJson(this.#transport, { method: 'GET', path: runPath(run_id, 'timeline') }, options)
  }

  /** What Claude Code or Codex has used, counted as it counts; not `available` for other agents. */
  harnessUsage(run_id: string, options?: RequestOptions): APIPromise<RunHarnessUsage> {
    return requestJson(this.#transport, { method: 'GET', path: runPath(run_id, 'harness-usage') }, options)
  }

  /** The newest run that produced this address, such as a pull request. None: `NotFoundError`. */
  findByReference(params: RunReferenceParams, options?: RequestOptions): APIPromise<RunReference> {
    const call = { method: 'GET', path: '/agent/run-by-external-reference', query: params } as const
    return requestJson(this.#transport, call, options)
  }

  /** The pull requests that the run opened, as they stand at their hosts now. */
  pullRequests(run_id: string, options?: RequestOptions): APIPromise<ListPullRequestsResponse> {
    return requestJson(this.#transport, { method: 'GET', path: runPath(run_id, 'pull-requests') }, options)
  }

  /**
   * Merges a pull request of the run, by the `merge_method` of its environment: the only one, or the one at `url`, and no other
   * commit than `commit` or what the run pushed last, into no other branch than `base`. One that cannot be merged as it is:
   * `ConflictError`.
   */
  merge(
    run_id: string,
    params: MergePullRequestParams = {},
    options?: RequestOptions,
  ): APIPromise<PullRequestItem> {
    const call = { method: 'POST', path: runPath(run_id, 'merge'), body: params } as const
    return requestJson(this.#transport, call, options)
  }

  /**
   * The workspace as the last execution that ended left it: links to one `workspace.tar.zst`, or none where nothing was kept.
   * They work without a key for 15 minutes.
   */
  handoffAttachments(run_id: string, options?: RequestOptions): APIPromise<HandoffAttachmentsResponse> {
    const call = { method: 'GET', path: runPath(run_id, 'handoff', 'attachments') } as const
    return requestJson(this.#transport, call, options)
  }

  /** The whole log as JSON Lines. */
  transcript(run_id: string, options?: RequestOptions): APIPromise<string> {
    return requestText(this.#transport, runPath(run_id, 'transcript'), options)
  }

  /**
   * Waits until the run has ended or waits for a person (BLOCKED), and returns it. One that ended as FAILED, ERROR or
   * CANCELLED: `RunFailedError`, unless `throwOnFailure` is off. With the `output_schema` it was made with, its `result` is
   * checked and typed; one that does not fit: `APIResponseValidationError`. What it throws has the `run_id`.
   */
  wait<T>(run_id: string, options: WaitOptions & { output_schema: OutputSchema<T> }): Promise<FinishedRun<T>>
  wait(run_id: string, options?: WaitOptions): Promise<RunItem>
  wait(
    run_id: string,
    options: WaitOptions & { output_schema?: OutputSchema } = {},
  ): Promise<RunItem | FinishedRun<unknown>> {
    return this.#wait(run_id, options, false)
  }

  async #wait(
    run_id: string,
    options: WaitOptions & { output_schema?: OutputSchema },
    is_new: boolean,
  ): Promise<RunItem | FinishedRun<unknown>> {
    const { throwOnFailure = true, output_schema, ...forWatch } = options
    try {
      const run = await new RunWatch(this.#transport, run_id, forWatch).untilSettled(is_new)
      const failed = isTerminal(run.state) && run.state !== 'SUCCEEDED'
      if (throwOnFailure && failed) throw new RunFailedError(run)
      return output_schema ? await parseResult(run, output_schema) : run
    } catch (error) {
      if (error instanceof RunyardError) error.run_id = run_id
      throw error
    }
  }
}
