import { isRecord } from '../../contract/storable-text.ts'
import type { AnswerReader } from './answer-reader.ts'
import { ChatCalls } from './chat-calls.ts'
import { type SplitText, ThinkTags } from './think-tags.ts'
import { asCounts, asList, asNumber, asRecord, asText, isText } from './values.ts'

type Json = Record<string, unknown>

const NO_TEXT: SplitText = { reasoning: '', text: '' }

/** Reasons to end as servers name them, where OpenAI has another name. */
const REASONS: Readonly<Record<string, string>> = {
  ...{
    end_turn: 'stop',
    stop_sequence: 'stop',
    eos: 'stop',
    eos_token: 'stop',
    complete: 'stop',
    completed: 'stop',
  },
  ...{ tool_use: 'tool_calls', tool_call: 'tool_calls', function_call: 'tool_calls' },
  ...{ max_tokens: 'length', max_output_tokens: 'length', token_limit: 'length', model_length: 'length' },
  ...{ safety: 'content_filter', content_filtered: 'content_filter', recitation: 'content_filter' },
  ...{ prohibited_content: 'content_filter', sensitive: 'content_filter', blocklist: 'content_filter' },
}
/** Reasons to end that mean the answer broke off. */
const BROKEN = new Set([
  ...['error', 'network_error', 'server_error', 'internal_error', 'insufficient_system_resource'],
  ...['abort', 'aborted', 'cancelled', 'timeout'],
])
/** Under which a server may tell what the model thought; the clients know the first two. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking', 'thought']
/** Fields that some servers want back with the answer they came with. */
const GIVEN_BACK =
  /^(reasoning(_\w+)?|thinking(_\w+)?|thought\w*|extra_content|signature|\w+_signature|encrypted_\w+|provider_specific_fields)$/

/** Answers of OpenAI's chat API. https://platform.openai.com/docs/api-reference/chat-streaming */
export class ChatAnswer implements AnswerReader {
  readonly #tags = new ThinkTags()
  readonly #calls = new ChatCalls()
  #has_ended = false
  #has_broken = false
  #has_text = false

  read(event: Json): Json[] {
    const { choices, usage, id, model, created } = event
    // Only one is asked for: where there are several, the answer is in pieces.
    const made = asList(choices)
      .filter(isRecord)
      .map((choice) => this.#readChoice(choice))
    const counts = asCounts(usage ?? asRecord(event.x_groq).usage)
    if (made.length === 0 && !counts) return []
    return (made.length > 0 ? made.map((choice) => [choice]) : [[]]).map((each) => ({
      ...event,
      ...{ id: asText(id) ?? null, model: asText(model) ?? null, created: asNumber(created) ?? null },
      ...{ choices: each, usage: counts },
      error: undefined,
    }))
  }

  end(said: boolean): Json[] {
    const rest = this.#has_ended ? [] : this.#endText()
    const is_empty = !this.#has_text && this.#calls.count === 0
    // Without a reason the end of the connection may be that of a cut answer.
    if (!said || is_empty || this.#has_ended || this.#has_broken || this.#calls.has_open) return rest
    return [...rest, this.#chunk({}, this.#calls.count > 0 ? 'tool_calls' : 'stop')]
  }

  readWhole(answer: Json): Json[] | null {
    const told = asList(answer.choices).filter(isRecord)
    if (!told.some(({ message }) => isRecord(message))) return null
    const choices = told.map(({ message, finish_reason, ...rest }) => ({
      ...rest,
      delta: message,
      finish_reason: finish_reason ?? 'stop',
    }))
    const made = this.read({ ...answer, choices })
    return [...made, ...this.end(true)]
  }

  #readChoice(choice: Json): Json {
    const { delta, message, text, finish_reason, index } = choice
    // Some answer as an older API did, or with the text alone.
    const content = asText(delta) ?? asText(text)
    const told = content === undefined ? asRecord(isEmpty(delta) ? message : delta) : { content }
    const reason = typeof finish_reason === 'string' ? nameReason(finish_reason) : null
    this.#has_broken ||= typeof finish_reason === 'string' && BROKEN.has(finish_reason.toLowerCase())
    const made = this.#readDelta(told, reason !== null)
    if (reason !== null) this.#has_ended = true
    return { index: asNumber(index) ?? 0, delta: made, finish_reason: reason }
  }

  #readDelta(told: Json, is_last: boolean): Json {
    const { content, tool_calls, function_call, role: _, refusal, ...rest } = told
    const parts = asParts(content)
    const split = this.#tags.add(parts ? '' : (asText(content) ?? ''))
    const last = is_last ? this.#tags.end() : NO_TEXT
    const said = split.text + last.text
    this.#has_text ||= said.trim() !== '' || parts !== null
    const called = isRecord(function_call) ? [{ index: 0, function: function_call }] : asList(tool_calls)
    const calls = called.filter(isRecord).flatMap((call) => this.#calls.read(call))
    const give_back = Object.entries(rest).filter(([name, value]) => GIVEN_BACK.test(name) && value != null)
    return {
      ...{ role: 'assistant', content: parts ?? said },
      ...(typeof refusal === 'string' && { refusal }),
      ...readThoughts(rest, split.reasoning + last.reasoning),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(give_back.length > 0 && {
        reasoning_details: told.reasoning_details,
        give_back: Object.fromEntries(give_back),
      }),
    }
  }

  #endText(): Json[] {
    const { reasoning, text } = this.#tags.end()
    if (reasoning === '' && text === '') return []
    this.#has_text ||= text.trim() !== ''
    return [this.#chunk({ content: text, ...readThoughts({}, reasoning) }, null)]
  }

  #chunk(delta: Json, finish_reason: string | null): Json {
    return {
      id: null,
      model: null,
      created: null,
      choices: [{ index: 0, delta, finish_reason }],
      usage: null,
    }
  }
}

/** `null`: it is no end. One that broke off has none either: what was executed of it could be half of what was meant. */
function nameReason(told: string): string | null {
  const reason = told.toLowerCase()
  if (reason.includes('malformed_function_call')) return told
  return reason === '' || BROKEN.has(reason) ? null : (REASONS[reason] ?? reason)
}

/** Parts of a text, some of them thoughts, as Mistral sends them: the clients know those. `null`: it is none. */
function asParts(content: unknown): unknown[] | null {
  if (!Array.isArray(content)) return null
  return content.filter((part) => isRecord(part) && typeof part.type === 'string')
}

/** `inline`: from among the text. */
function readThoughts(told: Json, inline: string): Json {
  const [name, text] =
    THOUGHTS.map((key) => [key, told[key]] as const).find(([, value]) => isText(value)) ?? []
  const is_known = name === 'reasoning' || name === 'reasoning_content'
  if (is_known && inline === '') return { [name]: text }
  const thoughts = `${text ?? ''}${inline}`
  // One client looks for the one, another for the other.
  return thoughts === '' ? {} : { reasoning_content: thoughts, reasoning: thoughts }
}

const isEmpty = (value: unknown): boolean => Object.keys(asRecord(value)).length === 0
