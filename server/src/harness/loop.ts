import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { EventData, NewEvent } from '../contract/event.ts'
import { storableText } from '../contract/storable-text.ts'
import { closeInterrupted, MARK, WORKER_LOST } from '../log/interruption.ts'
import { readProgress, takeBack } from '../log/progress.ts'
import { type Harness, type Outcome, type Turn, turnOf } from './harness.ts'
import { writeInstructions } from './instructions.ts'
import { buildMessages } from './messages.ts'
import { judgeModelError, modelOutcome } from './model-errors.ts'
import { askModel, REASONING_LEVELS, type StepRequest } from './model-step.ts'
import { available, type Models } from './models.ts'
import { describeTools } from './tools/toolset.ts'

export interface LoopOptions {
  /** Steps of the model between two messages of the user, at most. */
  max_steps?: number
  /** Attempts for a request that the provider did not accept, beyond the first; the SDK waits 2 s, then 4 s. */
  max_retries?: number
  /** Before a step whose stream broke is asked for again; doubled each time. */
  retry_delay_ms?: number
}

const BROKEN_STREAM_RETRIES = 3
const NOT_STARTED = `${MARK}the turn was stopped before this call was started`
const HIDDEN = `${MARK}the worker was lost before this call was started, and parts of it are hidden by now, as ***. Call it again if it is still to be done, with the real text in their place.`
const STOPPED: Outcome = { state: 'ERROR', status_message: { message: 'The turn was stopped.' } }

/**
 * The built-in agent: one request to the model a step, each step stored before its tools are executed, one after the
 * other. The messages are made of the log anew at each step, so any worker can go on from there. It is our own loop
 * because the SDK's runs ahead of its reader and hides what its callbacks throw: a tool could run before its call is
 * stored, or after the lease is lost.
 */
export function createLoop(models: Models, options: LoopOptions = {}): Harness {
  return {
    name: 'oz',
    async resolveModel(config) {
      const resolved = await models.resolve(modelOf(config))
      return 'reason' in resolved ? undefined : resolved.model_id
    },
    open: async (execution) => ({
      turn: (request) => new LoopTurn(turnOf(execution, request), models, options).run(),
      close: async () => {},
    }),
  }
}

const modelOf = (config: AmbientAgentConfig): string | undefined =>
  config.harness?.model_id ?? config.model_id

class LoopTurn {
  readonly #turn: Turn
  readonly #models: Models
  readonly #options: Required<LoopOptions>
  /** The history and what this turn added to it. */
  readonly #log: NewEvent[]

  constructor(turn: Turn, models: Models, options: LoopOptions) {
    this.#turn = turn
    this.#models = models
    this.#options = { max_steps: 200, max_retries: 2, retry_delay_ms: 1000, ...options }
    this.#log = [...turn.history]
  }

  async run(): Promise<Outcome> {
    const prepared = await this.#prepare()
    if ('state' in prepared) return prepared
    await this.#settle()
    while (!this.#turn.signal.aborted) {
      for (const event of await this.#turn.inbox.take()) this.#log.push(event)
      const { needs_step, steps } = readProgress(this.#log)
      if (!needs_step) return { state: 'SUCCEEDED' }
      if (steps >= this.#options.max_steps) {
        const message = `The agent reached the limit of ${steps} steps without finishing. Send a follow-up to continue.`
        return { state: 'FAILED', status_message: { message, retryable: false } }
      }
      const outcome = await this.#takeStep(prepared)
      if (outcome) return outcome
    }
    return STOPPED
  }

  async #prepare(): Promise<Omit<StepRequest, 'messages'> | Outcome> {
    const { config } = this.#turn.run
    const resolved = await this.#models.resolve(modelOf(config))
    if ('reason' in resolved) return modelOutcome('FAILED', resolved.reason, 'integration_not_configured')
    const level = config.harness?.reasoning_level
    const reasoning = REASONING_LEVELS.find((known) => known === level)
    if (level !== undefined && reasoning === undefined) {
      const message = `reasoning_level "${level}" is not known; there are ${REASONING_LEVELS.join(', ')}.`
      return modelOutcome('FAILED', message, 'invalid_request')
    }
    return {
      resolved,
      instructions: writeInstructions(this.#turn),
      tools: describeTools(this.#turn.tools),
      max_retries: this.#options.max_retries,
      ...(reasoning && { reasoning }),
    }
  }

  /** Brings the log into order after a lost worker: takes torn text back, closes or executes open calls. */
  async #settle(): Promise<void> {
    const { torn, open_calls } = readProgress(this.#log)
    const [started, ...waiting] = open_calls
    const closing: NewEvent[] = torn.map(({ type, data }) => takeBack(type, data.message_id))
    if (started)
      closing.push({ type: 'tool.result', data: closeInterrupted(started.tool_call_id, WORKER_LOST) })
    await this.#record(...closing)
    await this.#execute(waiting)
  }

  async #takeStep(request: Omit<StepRequest, 'messages'>): Promise<Outcome | null> {
    const messages = buildMessages([...this.#turn.context, ...this.#log])
    for (let retries = 0; ; retries += 1) {
      const end = await askModel(this.#turn, { ...request, messages })
      if (end.type === 'complete') return await this.#finishStep(end.events, end.finish_reason)
      if (end.type === 'stopped') {
        await this.#record(...end.partial)
        return STOPPED
      }
      const failure = judgeModelError(end.error)
      if (failure.type !== 'broken' || retries === BROKEN_STREAM_RETRIES) {
        await this.#record(...end.partial)
        return failure.type === 'unknown_model'
          ? await this.#unknownModel(request.resolved.model_id)
          : failure.outcome
      }
      await this.#record(...end.take_back)
      await this.#pause(this.#options.retry_delay_ms * 2 ** retries)
      if (this.#turn.signal.aborted) return STOPPED
    }
  }

  async #finishStep(events: NewEvent[], finish_reason: string): Promise<Outcome | null> {
    const calls = this.#nameCalls(events)
    await this.#record(...events)
    await this.#execute(calls)
    if (calls.length > 0) return null
    if (finish_reason === 'content-filter') {
      return modelOutcome(
        'FAILED',
        'The model provider withheld the answer for its content.',
        'content_policy_violation',
      )
    }
    if (finish_reason !== 'length') return null
    const message = 'The answer was cut at the limit of output tokens. Send a follow-up to continue.'
    return { state: 'FAILED', status_message: { message, retryable: false } }
  }

  /** Gives the step's calls ids that are unique in the log, which not every provider does, and titles for people. */
  #nameCalls(events: NewEvent[]): Array<EventData<'tool.call'>> {
    const taken = new Set(
      [...this.#turn.context, ...this.#log].flatMap((event) =>
        event.type === 'tool.call' ? [event.data.tool_call_id] : [],
      ),
    )
    const calls = events.flatMap((event) => (event.type === 'tool.call' ? [event.data] : []))
    for (const call of calls) {
      // Ids are kept as they are; one that a value stands in is replaced by one of ours.
      const given =
        this.#turn.mask(call.tool_call_id) === call.tool_call_id ? call.tool_call_id : randomUUID()
      call.tool_call_id = given
      for (let n = 2; taken.has(call.tool_call_id); n += 1) call.tool_call_id = `${given}-${n}`
      taken.add(call.tool_call_id)
      const title = this.#turn.tools.get(call.name)?.title(call.input, this.#turn.mask)
      if (title !== undefined) call.title = storableText(title)
    }
    return calls
  }

  /** One after the other: that, and nothing else, tells a later worker which calls cannot have started. */
  async #execute(calls: ReadonlyArray<EventData<'tool.call'>>): Promise<void> {
    for (const { tool_call_id, name, input, masked } of calls) {
      if (this.#turn.signal.aborted || masked) {
        const reason = this.#turn.signal.aborted ? NOT_STARTED : HIDDEN
        await this.#record({ type: 'tool.result', data: closeInterrupted(tool_call_id, reason) })
        continue
      }
      const started = performance.now()
      const tool = this.#turn.tools.get(name)
      const { output, ...figures } = tool
        ? await tool.run(input, { turn: this.#turn, tool_call_id })
        : {
            is_error: true,
            output: `There is no tool "${name}". There are ${[...this.#turn.tools.keys()].join(', ')}.`,
          }
      const duration_ms = Math.round(performance.now() - started)
      const data = { tool_call_id, duration_ms, ...figures, output: storableText(output) }
      await this.#record({ type: 'tool.result', data })
    }
  }

  async #unknownModel(model_id: string): Promise<Outcome> {
    const message = `The provider does not know the model "${model_id}". ${available(await this.#models.list())}`
    return modelOutcome('FAILED', message, 'integration_not_configured')
  }

  async #record(...events: NewEvent[]): Promise<void> {
    if (events.length === 0) return
    this.#log.push(...events)
    await this.#turn.emit(...events)
  }

  async #pause(milliseconds: number): Promise<void> {
    await delay(milliseconds, undefined, { signal: this.#turn.signal }).catch(() => {})
  }
}
