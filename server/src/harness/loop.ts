import type { EventData, NewEvent } from '../contract/event.ts'
import { LOOP, REASONING_LEVELS } from '../contract/harness-fields.ts'
import { storableText } from '../contract/storable-text.ts'
import { findApproval } from '../log/approvals.ts'
import { closeInterrupted, MARK, WORKER_LOST } from '../log/interruption.ts'
import { readProgress, takeBack } from '../log/progress.ts'
import { endsStep } from '../log/step-end.ts'
import { countFaults, giveUp, judgeAnswer, MAX_FAULTS, notMade, tellFault } from './answer-faults.ts'
import {
  describeDenial,
  describeRefusal,
  NEVER_BEGUN,
  requestApproval,
  SUPERSEDED,
  waitForApproval,
} from './approvals.ts'
import { BackgroundCommands } from './background-commands.ts'
import { CallGate } from './call-gate.ts'
import { Compaction } from './compaction.ts'
import { estimateRequest } from './compaction-plan.ts'
import {
  type Execution,
  type Harness,
  NO_RESULT,
  type Outcome,
  STOPPED_TURN,
  type Turn,
  turnOf,
} from './harness.ts'
import { writeInstructions } from './instructions.ts'
import { ToolServers } from './mcp.ts'
import { addReminders, buildMessages } from './messages.ts'
import { ModelChoice, modelOf } from './model-choice.ts'
import { EMPTY_ANSWER, type LastingFailure, type PassingFailure } from './model-errors.ts'
import { askModel, describeTools, type FinishReason, type StepRequest } from './model-step.ts'
import { available, IS_ADDRESS_RIGHT, type Models, type ResolvedModel } from './models.ts'
import type { Verdict } from './permissions.ts'
import { nameForProvider } from './provider-names.ts'
import { keyRefused, modelOutcome } from './provider-refusal.ts'
import { IN_CIRCLES, Repeats, warnOfRepeats } from './repeats.ts'
import { pause, Retries, type RetryOptions } from './retries.ts'
import { writeSkillNotes } from './skill-notes.ts'
import { makeCallId } from './tool-call.ts'
import { loadSkill } from './tools/load-skill.ts'
import { createSubmitResult, SUBMIT_RESULT } from './tools/submit-result.ts'
import { understandInput } from './understand-input.ts'

export interface LoopOptions extends Partial<RetryOptions> {
  /** Steps of the model between two messages of the user, at most. */
  max_steps?: number
}

const MAX_STEPS = 200
/** Reasons of a provider to end an answer that explain why there may be none. */
const UNFINISHED = new Set<FinishReason>(['length', 'content-filter', 'unreadable-call'])
const ALLOWED = { action: 'allow' } as const
const NOT_STARTED = `${MARK}the turn was stopped before this call was started`
const HIDDEN = `${MARK}the worker was lost before this call was started, and parts of it are hidden by now, as ***. Call it again if it is still to be done, with the real text in their place.`
/** More than any task needs, and few enough that the limits of steps and of repeated calls still mean something. */
const MAX_CALLS = 64
const TOO_MANY = `${MARK}too many calls in one answer: the first ${MAX_CALLS} are made. Make this one again if it is still needed.`
const ROUND = `${MARK}the turn ended before this call was started: calls before it were alike`
const MAX_REMINDERS = 2
const NOTHING_SHOWN = { partial: [], take_back: [] }

/**
 * The built-in agent: one request to the model a step, each step stored before its tools are executed, one after the
 * other. The messages are made of the log anew at each step, so any worker can go on from there. It is our own loop
 * because the SDK's runs ahead of its reader and hides what its callbacks throw: a tool could run before its call is
 * stored, or after the lease is lost.
 */
export function createLoop(models: Models, options: LoopOptions = {}): Harness {
  return {
    traits: LOOP,
    async resolveModel(config) {
      const resolved = await models.resolve(modelOf(config))
      if ('reason' in resolved) return undefined
      return { model_id: resolved.model_id, has_price: resolved.prices !== undefined }
    },
    async open(given) {
      const { output_schema, run_id } = given.run
      const background = new BackgroundCommands()
      const gate = new CallGate(given)
      const own = output_schema ? [createSubmitResult(output_schema, run_id)] : []
      const tools = new Map([...given.tools, ...own.map((tool) => [tool.name, tool] as const)])
      const servers = new ToolServers(given, tools)
      return {
        async turn(request) {
          background.numberFrom([...given.context, ...request.history])
          const started = await servers.start(request.signal)
          if (request.signal.aborted) return STOPPED_TURN
          if ('failure' in started) return started.failure
          const notes = [...writeSkillNotes(given), started.notes].filter(Boolean).join('\n\n')
          const turn = { ...turnOf(given, request), tools: withSkills(started.tools, given), notes }
          return new LoopTurn(turn, { models, background, gate, options }).run()
        },
        async close() {
          await Promise.all([background.close(), servers.close()])
        },
      }
    },
  }
}

const withSkills = (tools: Turn['tools'], { skills }: Execution): Turn['tools'] => {
  if (!skills || skills.list.length === 0) return tools
  const tool = loadSkill(skills)
  return new Map([...tools, [tool.name, tool]])
}

const closeAll = (calls: ReadonlyArray<EventData<'tool.call'>>, why: string): NewEvent[] =>
  calls.map(({ tool_call_id }) => ({ type: 'tool.result', data: closeInterrupted(tool_call_id, why) }))

class LoopTurn {
  readonly #turn: Turn
  readonly #models: Models
  readonly #background: BackgroundCommands
  readonly #gate: CallGate
  readonly #max_steps: number
  readonly #retries: Retries
  readonly #compaction: Compaction
  readonly #choice: ModelChoice
  /** For the model that was asked for then. */
  #prepared: { model: string | undefined; request: Omit<StepRequest, 'messages'> } | undefined
  /** The history and what this turn added to it. */
  readonly #log: NewEvent[] = []
  readonly #repeats = new Repeats()

  constructor(
    turn: Turn,
    {
      models,
      background,
      gate,
      options,
    }: { models: Models; background: BackgroundCommands; gate: CallGate; options: LoopOptions },
  ) {
    this.#turn = turn
    this.#background = background
    this.#gate = gate
    this.#models = models
    this.#max_steps = options.max_steps ?? MAX_STEPS
    this.#retries = new Retries(options)
    this.#choice = new ModelChoice(turn.run.config, models.fallbacks)
    this.#compaction = new Compaction(turn, {
      record: (...events) => this.#record(...events),
      waitFor: (failure) => this.#waitFor(failure),
      refuse: (failure, model_id) => this.#refuse(failure, model_id),
    })
    this.#add(turn.history)
  }

  /** Only what it hands in ends the run well. */
  get #owesResult(): boolean {
    return this.#turn.tools.has(SUBMIT_RESULT)
  }

  async run(): Promise<Outcome> {
    await this.#settle()
    while (!this.#turn.signal.aborted) {
      this.#add(await this.#turn.inbox.take())
      const { needs_step, steps, answers, last_calls, open_calls } = readProgress(this.#log)
      const wait = await this.#findWait(open_calls)
      if (wait) return wait
      if (open_calls.length > 0) continue
      const ending = this.#findEnding(last_calls)
      if (ending) return ending
      if (!needs_step && !this.#owesResult) return { state: 'SUCCEEDED' }
      if (!needs_step && answers > MAX_REMINDERS) return NO_RESULT
      if (this.#repeats.goes_in_circles) return IN_CIRCLES
      if (steps >= this.#max_steps) {
        const message = `The agent reached the limit of ${steps} steps without finishing. Send a follow-up to continue.`
        return { state: 'FAILED', status_message: { message, retryable: false } }
      }
      const outcome = await this.#askNext()
      if (outcome) return outcome
    }
    return STOPPED_TURN
  }

  async #askNext(): Promise<Outcome | null> {
    // A message may have asked for another one, or the one before has failed.
    if (this.#prepared?.model !== this.#choice.asked) this.#prepared = undefined
    const request = this.#prepared?.request ?? (await this.#prepare())
    if ('state' in request) return this.#fallBack(request)
    this.#prepared = { model: this.#choice.asked, request }
    return this.#takeStep(request)
  }

  async #prepare(): Promise<Omit<StepRequest, 'messages'> | Outcome> {
    const { config } = this.#turn.run
    const resolved = await this.#resolveModel()
    if ('state' in resolved) return resolved
    const switched = this.#choice.announce(resolved.model_id)
    if (switched) await this.#record(switched)
    const level = config.harness?.reasoning_level
    const reasoning = REASONING_LEVELS.find((known) => known === level)
    return {
      resolved,
      instructions: writeInstructions(this.#turn),
      tools: describeTools(this.#turn.tools),
      ...(reasoning && { reasoning }),
    }
  }

  /** Brings the log into order after a lost worker: takes torn text back, closes or executes open calls. */
  async #settle(): Promise<void> {
    const { torn, open_calls } = readProgress(this.#log)
    await this.#record(...torn.map(({ type, data }) => takeBack(type, data.message_id)))
    const [first, ...others] = open_calls
    if (!first) return
    const approval = findApproval(this.#log, first)
    const is_new = approval ? approval.attempts <= 1 : false
    if (approval?.answer === null) return
    if (approval?.answer.decision === 'deny') await this.#deny(first, describeDenial(approval.answer))
    else if (is_new) await this.#carryOutAllowed(first)
    // It may have been lost before its permissions were looked at.
    else if (this.#turn.tools.get(first.name)?.repeatable) return this.#execute(open_calls)
    else await this.#close(WORKER_LOST, first)
    await this.#execute(others)
  }

  /**
   * Calls are open between two steps where somebody has to allow the first of them: the turn ends with the question. Where the
   * user wrote something else, they are closed.
   */
  async #findWait([first, ...others]: Array<EventData<'tool.call'>>): Promise<Outcome | null> {
    if (!first) return null
    const approval = findApproval(this.#log, first)
    if (approval && !approval.is_superseded) return waitForApproval(approval.request)
    await this.#close(SUPERSEDED, first)
    await this.#close(NEVER_BEGUN, ...others)
    return null
  }

  /** Whoever allowed it did so under the rules of then: what is denied by now stays undone. */
  async #carryOutAllowed(call: EventData<'tool.call'>): Promise<void> {
    const verdict = this.#gate.judge(this.#log, call)
    if (verdict.action === 'deny') await this.#deny(call, describeRefusal(verdict.rule))
    else await this.#carryOut(call)
  }

  async #close(why: string, ...calls: Array<EventData<'tool.call'>>): Promise<void> {
    await this.#record(...closeAll(calls, why))
  }

  async #deny({ tool_call_id }: EventData<'tool.call'>, output: string): Promise<void> {
    await this.#recordResult({ tool_call_id, is_error: true, output: storableText(output) })
  }

  /** Of the calls behind which nothing was said, the first that ends the turn. */
  #findEnding(calls: Array<EventData<'tool.call'>>): Outcome | null {
    for (const { name, input } of calls) {
      const ending = this.#turn.tools.get(name)?.ends?.(input)
      if (ending) return ending
    }
    return null
  }

  /** A provider that is away is waited for as in the middle of the work. */
  async #resolveModel(): Promise<ResolvedModel | Outcome> {
    while (!this.#turn.signal.aborted) {
      const resolved = await this.#models.resolve(this.#choice.asked)
      if (!('reason' in resolved)) return resolved
      if (resolved.refused_by !== undefined) return keyRefused(resolved.refused_by)
      if (!resolved.away) return modelOutcome('FAILED', resolved.reason, 'integration_not_configured')
      const outcome = modelOutcome('ERROR', resolved.reason, 'resource_unavailable', true)
      const ending = await this.#waitFor({ type: 'passing', outcome })
      if (ending) return ending
    }
    return STOPPED_TURN
  }

  async #takeStep(request: Omit<StepRequest, 'messages'>): Promise<Outcome | null> {
    const { model_id } = request.resolved
    const spoiled = await this.#compaction.makeRoom(request, this.#log)
    if (spoiled) return this.#fallBack(spoiled, model_id)
    const too_large = this.#judgePrompt(request)
    if (too_large) return too_large
    const conversation = buildMessages([...this.#turn.context, ...this.#log])
    const messages = this.#owesResult ? addReminders(conversation) : conversation
    const end = await askModel(this.#turn, { ...request, messages })
    if (end.type === 'stopped') {
      // Where the budget is spent, the turn is stopped by this; one that was raised meanwhile goes on.
      await this.#record(...end.partial, ...end.usage)
      return null
    }
    if (end.type === 'complete' && end.is_empty && !UNFINISHED.has(end.finish_reason)) {
      await this.#record(...end.events)
      const ending = await this.#waitFor(EMPTY_ANSWER)
      return ending && this.#fallBack(ending, model_id)
    }
    if (end.type === 'complete') {
      this.#retries.reset()
      return await this.#finishStep(end.events, end.finish_reason)
    }
    const { failure } = end
    await this.#record(...end.usage)
    if (failure.type === 'passing') {
      const ending = await this.#waitFor(failure, end.take_back)
      return ending && this.#fallBack(ending, model_id, end)
    }
    if (failure.type === 'overflow') {
      await this.#record(...end.take_back)
      const ending = await this.#compaction.shorten(request, this.#log, failure)
      return ending && this.#fallBack(ending, model_id)
    }
    return this.#fallBack(await this.#refuse(failure, model_id), model_id, end)
  }

  /** `null`: the next model goes on. What was shown of an answer that failed stays only where nobody does. */
  async #fallBack(
    outcome: Outcome,
    failed?: string,
    { partial, take_back }: { partial: NewEvent[]; take_back: NewEvent[] } = NOTHING_SHOWN,
  ): Promise<Outcome | null> {
    const switched = this.#turn.signal.aborted ? null : this.#choice.fallBack(outcome, failed)
    if (!switched) {
      await this.#record(...partial)
      return outcome
    }
    this.#retries.reset()
    await this.#record(...take_back, switched)
    return null
  }

  /** A request that is more than the budget bears is not sent: it would be paid for, whatever came of it. */
  #judgePrompt(request: Omit<StepRequest, 'messages'>): Outcome | null {
    const { affords, context } = this.#turn
    if (!affords) return null
    const input_tokens = estimateRequest(context, this.#log, request)
    // What was in the provider's cache will be so again, and costs a fraction there.
    const { cached_input_tokens = 0 } = this.#log.findLast(endsStep)?.data ?? {}
    const cost = request.resolved.cost({ input_tokens, cached_input_tokens, output_tokens: 0 })
    const used = { input_tokens, output_tokens: 0, ...(cost !== undefined && { inference_cost_usd: cost }) }
    if (affords(used)) return null
    return {
      state: 'BLOCKED',
      status_message: {
        message: `The next request to the model, of about ${input_tokens} tokens, is more than is left of the run's budget, so it was not sent. A follow-up with a larger budget goes on.`,
        error_code: 'budget_exceeded',
        retryable: false,
        waits_for: 'budget',
      },
    }
  }

  /** Waits for what may pass; how the turn ends when it has been waited for long enough. */
  async #waitFor(failure: PassingFailure, take_back: NewEvent[] = []): Promise<Outcome | null> {
    const next = this.#retries.next(failure)
    if ('state' in next) return next
    await this.#record(...take_back, { type: 'retrying', data: next })
    await pause(next.delay_ms, this.#turn.signal)
    return null
  }

  async #finishStep(events: NewEvent[], finish_reason: FinishReason): Promise<Outcome | null> {
    const calls = this.#nameCalls(events)
    const before = countFaults(this.#log)
    const fault = judgeAnswer(events, finish_reason, { tools: this.#turn.tools, count: before })
    if (fault) {
      const count = before + 1
      // A call of an answer that is not whole may be half of what was meant.
      await this.#record(
        ...events,
        ...closeAll(calls, notMade(fault)),
        ...(count > MAX_FAULTS ? [] : [tellFault(fault)]),
      )
      return count > MAX_FAULTS ? giveUp(fault, MAX_FAULTS) : null
    }
    // At once with their calls: a later worker would make them.
    await this.#record(...events, ...closeAll(calls.slice(MAX_CALLS), TOO_MANY))
    await this.#execute(calls.slice(0, MAX_CALLS))
    if (calls.length > 0 || finish_reason !== 'content-filter') return null
    return modelOutcome(
      'FAILED',
      'The model provider withheld the answer for its content.',
      'content_policy_violation',
    )
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
      call.tool_call_id = makeCallId(call.tool_call_id, taken, this.#turn.mask)
      const tool = this.#turn.tools.get(call.name)
      if (tool) call.input = understandInput(call.input, tool.input_schema)
      const title = tool?.title(call.input, this.#turn.mask)
      if (title !== undefined) call.title = storableText(title)
    }
    return calls
  }

  /** One after the other: that, and nothing else, tells a later worker which calls cannot have started. */
  async #execute(calls: ReadonlyArray<EventData<'tool.call'>>): Promise<void> {
    for (const [at, call] of calls.entries()) {
      if (this.#repeats.goes_in_circles) return this.#close(ROUND, ...calls.slice(at))
      const verdict = this.#turn.signal.aborted ? ALLOWED : this.#judge(call)
      if (verdict.action === 'allow') await this.#carryOut(call)
      else if (verdict.action === 'deny') await this.#deny(call, describeRefusal(verdict.rule))
      else {
        // It and those behind it stay open until somebody answers.
        await this.#record({ type: 'approval.requested', data: requestApproval(call, verdict.rule) })
        return
      }
    }
  }

  /** What only ends the turn does nothing that somebody could have to allow; a rule can say that nobody is to be asked. */
  #judge(call: EventData<'tool.call'>): Verdict {
    const verdict = this.#gate.judge(this.#log, call)
    const ends = this.#turn.tools.get(call.name)?.ends !== undefined
    return ends && !(verdict.action === 'deny' && verdict.rule.tool !== '*') ? ALLOWED : verdict
  }

  async #carryOut(call: EventData<'tool.call'>): Promise<void> {
    const { tool_call_id, name, input, masked } = call
    if (this.#turn.signal.aborted || masked)
      return this.#close(this.#turn.signal.aborted ? NOT_STARTED : HIDDEN, call)
    const started = performance.now()
    const tool = this.#turn.tools.get(name)
    const { output, ...figures } = tool
      ? await tool.run(input, { turn: this.#turn, tool_call_id, background: this.#background })
      : {
          is_error: true,
          output: `There is no tool "${nameForProvider(name)}". There are ${[...this.#turn.tools.keys()].join(', ')}.`,
        }
    const duration_ms = Math.round(performance.now() - started)
    await this.#recordResult({ tool_call_id, duration_ms, ...figures, output: storableText(output) })
  }

  async #refuse(failure: LastingFailure, model_id: string): Promise<Outcome> {
    if (failure.type === 'final') return failure.outcome
    const { asked } = failure
    if (asked && (!asked.is_api || (await this.#isMissing(model_id))))
      return modelOutcome('FAILED', `${asked.answer}. ${IS_ADDRESS_RIGHT}`, 'integration_not_configured')
    const message = `The provider does not know the model "${model_id}". ${available(await this.#models.list())}`
    return modelOutcome('FAILED', message, 'integration_not_configured')
  }

  /** Whether its provider has no list of models either. */
  async #isMissing(model_id: string): Promise<boolean> {
    const checks = await this.#models.check()
    return checks.some(({ provider, is_missing }) => is_missing && model_id.startsWith(`${provider}/`))
  }

  /** With a word to an agent that does the same again and again. */
  async #recordResult(data: EventData<'tool.result'>): Promise<void> {
    const output = warnOfRepeats(this.#repeats.countWith(data), data.output ?? '')
    await this.#record({ type: 'tool.result', data: { ...data, output } })
  }

  async #record(...events: NewEvent[]): Promise<void> {
    if (events.length === 0) return
    this.#add(events)
    await this.#turn.emit(...events)
  }

  #add(events: readonly NewEvent[]): void {
    for (const event of events) {
      this.#log.push(event)
      this.#choice.add(event)
      this.#repeats.add(event)
    }
  }
}
