import { randomUUID } from 'node:crypto'
import {
  jsonSchema,
  type LanguageModelStreamPart,
  type LanguageModelUsage,
  type ModelMessage,
  experimental_streamLanguageModelCall as streamCall,
  type ToolSet,
} from 'ai'
import type { EventData, NewEvent } from '../contract/event.ts'
import type { REASONING_LEVELS } from '../contract/harness-fields.ts'
import { isRecord, storableJson, storableRecord, storableText } from '../contract/storable-text.ts'
import { takeBack } from '../log/progress.ts'
import { AnswerNotes } from './answer-notes.ts'
import { BROKEN_OFF, BrokenAnswer, saidNothing } from './broken-answer.ts'
import type { Tool, Turn } from './harness.ts'
import { CONTEXT_FULL, judgeModelError, type ModelFailure } from './model-errors.ts'
import { priceOf } from './model-prices.ts'
import type { ResolvedModel } from './models.ts'
import { StreamedText } from './streamed-text.ts'
import { isTooDeep, TOO_DEEP } from './tool-call.ts'

export interface StepRequest {
  resolved: ResolvedModel
  instructions: string
  messages: ModelMessage[]
  tools: ToolSet
  reasoning?: Reasoning
}
type Part = LanguageModelStreamPart<ToolSet>

/** An English token has about so many. */
const CHARACTERS_A_TOKEN = 4
/** The budget is asked each time so much has come. */
const ASKED_CHARACTERS = 1_024
/** As much of an answer without its end as is shown while it is written. */
const MAX_PARTIAL_CHARACTERS = 2 ** 20

/** As Anthropic, and others after it, say that the answer filled the window. */
const WINDOW_FULL = 'model_context_window_exceeded'
/** As Google says that it could not read what the model wrote as a call. */
const UNREADABLE_CALL =
  /malformed_(function_call|response)|unexpected_tool_call|too_many_tool_calls|missing_thought_signature/i

export type Reasoning = (typeof REASONING_LEVELS)[number]

export type FinishReason = Extract<Part, { type: 'model-call-end' }>['finishReason'] | 'unreadable-call'

export type StepEnd =
  /** `events` are the step's content and its usage, in the order they are to be stored. */
  | { type: 'complete'; events: NewEvent[]; finish_reason: FinishReason; is_empty: boolean }
  /** `partial` is the text that has been shown; `take_back` removes it. `usage`: estimated, where there was any output. */
  | { type: 'failed'; failure: ModelFailure; partial: NewEvent[]; take_back: NewEvent[]; usage: NewEvent[] }
  /** By the turn's signal, or because the budget does not bear more of it. */
  | { type: 'stopped'; partial: NewEvent[]; usage: NewEvent[] }

/** Asks the model for one step and streams its text. Stores nothing, executes nothing, throws only faults of the service. */
export async function askModel(turn: Turn, request: StepRequest): Promise<StepEnd> {
  const { resolved } = request
  const content = new StepContent(turn)
  const notes = new AnswerNotes()
  let failure: { error: unknown } | undefined
  let end: Extract<Part, { type: 'model-call-end' }> | undefined
  let over_budget = false
  for await (const part of readParts(turn, request, notes)) {
    if (part.type === 'error') failure ??= { error: part.error }
    // Its stream ended, and never said that the answer did.
    else if (part.type === 'model-call-end' && saysNoEnd(part)) end = undefined
    else if (part.type === 'model-call-end') end = part
    else content.add(part)
    if (!end && !content.isAfforded(resolved)) {
      over_budget = true
      break
    }
  }
  if (turn.signal.aborted || over_budget)
    return { type: 'stopped', partial: content.texts(), usage: content.usage(request) }
  if (failure || notes.failed || !end) {
    const error = notes.explain(failure?.error, content.is_empty) ?? new BrokenAnswer(`${BROKEN_OFF}.`)
    const usage = content.usage(request)
    const judged = judgeModelError(error, notes.hide, providerOf(resolved.model_id))
    return { type: 'failed', failure: judged, partial: content.texts(), take_back: content.takeBack(), usage }
  }
  const { usage: used, finishReason, rawFinishReason = '' } = end
  if (rawFinishReason === WINDOW_FULL) {
    const usage = [usageEvent(resolved, { ...countUsage(used), estimated: true })]
    return {
      type: 'failed',
      failure: CONTEXT_FULL,
      partial: content.texts(),
      take_back: content.takeBack(),
      usage,
    }
  }
  const events = content.events()
  const is_empty = events.every(({ type }) => type === 'reasoning')
  const usage = usageEvent(resolved, countUsage(used))
  const finish_reason = UNREADABLE_CALL.test(rawFinishReason) ? 'unreadable-call' : finishReason
  return { type: 'complete', events: [...events, usage], finish_reason, is_empty }
}

const providerOf = (model_id: string): string => model_id.slice(0, model_id.indexOf('/'))

/** Some clients have a word for a stream that broke off, others say that it ended for a reason that nobody gave. */
const saysNoEnd = ({ finishReason, rawFinishReason }: Extract<Part, { type: 'model-call-end' }>): boolean =>
  finishReason === 'interrupted' || (finishReason === 'other' && rawFinishReason === undefined)

/** Its failures are parts of it: what is thrown elsewhere in a step is no failure of the provider. */
async function* readParts(turn: Turn, request: StepRequest, notes: AnswerNotes): AsyncGenerator<Part> {
  const { resolved, instructions, messages, tools, reasoning } = request
  const { idle_ms } = resolved
  const idle = new AbortController()
  const timer = setTimeout(() => idle.abort(saidNothing(idle_ms)), idle_ms)
  try {
    // One request and its answer. `streamText` around it would take another millisecond or two a step, for what the loop does
    // itself: further steps, new tries, running tools.
    const { stream } = await streamCall({
      model: await resolved.openModel(notes),
      providerOptions: resolved.provider_options,
      instructions,
      messages,
      tools,
      ...(reasoning && { reasoning }),
      ...(resolved.max_output_tokens !== undefined && { maxOutputTokens: resolved.max_output_tokens }),
      abortSignal: AbortSignal.any([turn.signal, idle.signal]),
    })
    for await (const part of stream) {
      // A provider that says no more than that it is still there may say so for ever.
      if (part.type !== 'ping') timer.refresh()
      yield part
    }
    if (idle.signal.aborted) throw idle.signal.reason
  } catch (error) {
    yield { type: 'error', error: idle.signal.aborted ? idle.signal.reason : error }
  } finally {
    clearTimeout(timer)
  }
}

/** Tools as a request describes them: without execution, and with validation left to `Tool.run`. */
export const describeTools = (tools: ReadonlyMap<string, Tool>): ToolSet =>
  Object.fromEntries(
    [...tools.values()].map(({ name, description, input_schema }) => [
      name,
      { description, inputSchema: jsonSchema(input_schema) },
    ]),
  )

type Block =
  | {
      type: 'message.assistant' | 'reasoning'
      message_id: string
      text: string
      shown: StreamedText
      metadata?: unknown
    }
  | { type: 'tool.call'; data: EventData<'tool.call'> }

/** Collects the parts of a step in the order they began; several may be open at once. */
class StepContent {
  readonly #turn: Turn
  readonly #blocks: Block[] = []
  // Providers number their parts as they like, some with the same id for text and reasoning.
  readonly #open = new Map<string, Exclude<Block, { type: 'tool.call' }>>()

  /** Text, reasoning and inputs of calls, as they came in. */
  #characters = 0
  #asked = 0

  constructor(turn: Turn) {
    this.#turn = turn
  }

  get is_empty(): boolean {
    return this.#blocks.length === 0 && this.#characters === 0
  }

  get #output_tokens(): number {
    return Math.ceil(this.#characters / CHARACTERS_A_TOKEN)
  }

  /** Whether the budget bears what came so far. What was sent is counted at the end: it has been paid for in any case. */
  isAfforded({ cost }: ResolvedModel): boolean {
    const { affords } = this.#turn
    if (!affords || this.#characters < this.#asked + ASKED_CHARACTERS) return true
    this.#asked = this.#characters
    const output_tokens = this.#output_tokens
    const inference_cost_usd = cost({ input_tokens: 0, output_tokens })
    return affords({ output_tokens, ...(inference_cost_usd !== undefined && { inference_cost_usd }) })
  }

  /** About what the step used, where its end, which would say it, did not come. */
  usage({ resolved, instructions, messages, tools }: StepRequest): NewEvent[] {
    if (this.#characters === 0) return []
    const sent = instructions.length + JSON.stringify([messages, tools]).length
    const input_tokens = Math.ceil(sent / CHARACTERS_A_TOKEN)
    const output_tokens = this.#output_tokens
    return [usageEvent(resolved, { input_tokens, output_tokens, estimated: true })]
  }

  add(part: Part): void {
    if (part.type === 'text-delta' || part.type === 'reasoning-delta') this.#characters += part.text.length
    if (part.type === 'tool-input-delta') this.#characters += part.delta.length
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        this.#addText('message.assistant', part)
        break
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        this.#addText('reasoning', part)
        break
      case 'tool-call':
        this.#blocks.push({ type: 'tool.call', data: callOf(part) })
    }
  }

  /** Everything worth storing. */
  events(): NewEvent[] {
    return this.#blocks.flatMap((block): NewEvent[] => {
      if (block.type === 'tool.call') return [block]
      const { type, message_id } = block
      const data = { message_id, text: storableText(block.text) }
      // Not all providers take back what holds nothing to read.
      if (type === 'message.assistant') return textEvents(data)
      const metadata = metadataOf(block.metadata)
      return data.text === '' && !metadata.provider_metadata ? [] : [{ type, data: { ...data, ...metadata } }]
    })
  }

  /** Only the text: reasoning without its end lacks the signature, and a call may lack a part of its input. */
  texts(): NewEvent[] {
    return this.events().flatMap((event): NewEvent[] => {
      if (event.type !== 'message.assistant') return []
      const text = storableText(event.data.text.slice(0, MAX_PARTIAL_CHARACTERS))
      return [{ ...event, data: { ...event.data, text } }]
    })
  }

  takeBack(): NewEvent[] {
    return this.texts().flatMap((event) =>
      event.type === 'message.assistant' ? [takeBack(event.type, event.data.message_id)] : [],
    )
  }

  #addText(
    type: 'message.assistant' | 'reasoning',
    part: { id: string; type: string; text?: string; providerMetadata?: unknown },
  ): void {
    const key = `${type} ${part.id}`
    let block = this.#open.get(key)
    if (!block) {
      block = { type, message_id: randomUUID(), text: '', shown: new StreamedText() }
      this.#blocks.push(block)
      this.#open.set(key, block)
    }
    block.text += part.text ?? ''
    block.metadata = part.providerMetadata ?? block.metadata
    if (part.type.endsWith('-end')) this.#open.delete(key)
    // The whole text is not looked at: that would take it apart anew for each word.
    const shown = type === 'message.assistant' ? block.shown.add(part.text ?? '') : ''
    if (shown !== '') this.#turn.delta(block.message_id, shown)
  }
}

/** Thoughts in the text: between tags at its beginning, or up to an end whose beginning stands in the prompt of the server. */
const THOUGHTS =
  /^\s*<(think|thinking|thought|reasoning)>([\s\S]*?)<\/\1>\s*|^((?:(?!<think(?:ing)?>)[\s\S])*?(?:^|\n)[ \t]*)<\/think(?:ing)?>[ \t]*\r?\n\s*(?=\S)/

function textEvents({ message_id, text }: EventData<'message.assistant'>): NewEvent[] {
  const [whole = '', , tagged = '', unopened = ''] = THOUGHTS.exec(text) ?? []
  const thoughts = (tagged || unopened).trim()
  const said = text.slice(whole.length)
  return [
    ...(thoughts === '' ? [] : [thoughtEvent(thoughts)]),
    ...(said.trim() === '' ? [] : [{ type: 'message.assistant' as const, data: { message_id, text: said } }]),
  ]
}

const thoughtEvent = (text: string): NewEvent => ({
  type: 'reasoning',
  data: { message_id: randomUUID(), text },
})

function callOf(part: Extract<Part, { type: 'tool-call' }>): EventData<'tool.call'> {
  const { toolCallId, toolName, providerMetadata } = part
  return {
    tool_call_id: storableText(toolCallId),
    name: storableText(toolName),
    input: asInput(isTooDeep(part.input) ? TOO_DEEP : part.input),
    ...metadataOf(providerMetadata),
  }
}

// Arguments that are no JSON object are kept for the log's reader; no tool accepts them.
const asInput = (input: unknown) =>
  isRecord(input) ? storableRecord(input) : { malformed: storableJson(input) }

function metadataOf(metadata: unknown): { provider_metadata?: Record<string, unknown> } {
  return isRecord(metadata) && !isTooDeep(metadata) ? { provider_metadata: storableRecord(metadata) } : {}
}

/** What a provider counted may be anything; what is kept of it is added up, and told as JSON. */
const asCount = (told: number): number =>
  Number.isNaN(told) ? 0 : Math.min(Math.max(0, Math.round(told)), Number.MAX_SAFE_INTEGER)

function countUsage({ inputTokens, outputTokens, totalTokens, inputTokenDetails }: LanguageModelUsage): Used {
  const { cacheReadTokens, cacheWriteTokens } = inputTokenDetails
  return {
    ...{ input_tokens: asCount(inputTokens ?? 0), output_tokens: asCount(outputTokens ?? 0) },
    ...(cacheWriteTokens && { cache_write_tokens: asCount(cacheWriteTokens) }),
    ...(cacheReadTokens !== undefined && { cached_input_tokens: asCount(cacheReadTokens) }),
    ...(totalTokens !== undefined && { total_tokens: asCount(totalTokens) }),
  }
}

type Used = Parameters<ResolvedModel['cost']>[0] & { total_tokens?: number; estimated?: true }

function usageEvent(model: ResolvedModel, used: Used): NewEvent {
  return {
    type: 'usage',
    data: {
      ...{ model_id: model.model_id, total_tokens: asCount(used.input_tokens + used.output_tokens), ...used },
      ...priceOf(model, used),
    },
  }
}
