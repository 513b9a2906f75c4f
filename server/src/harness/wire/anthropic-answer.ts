import { randomUUID } from 'node:crypto'
import { isRecord } from '../../contract/storable-text.ts'
import type { AnswerReader } from './answer-reader.ts'
import { asCounts, asJsonText, asNumber, asRecord, asText, isText, parsesAsRecord } from './values.ts'

type Json = Record<string, unknown>

/** The pieces that our requests can be answered with: we never offer Anthropic's own tools. */
const DELTAS: Readonly<Record<string, readonly [kind: string, field: string]>> = {
  text_delta: ['text', 'text'],
  input_json_delta: ['tool_use', 'partial_json'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['thinking', 'signature'],
}

/** Reasons to end as proxies of other APIs name them. `null`: it broke off. */
const REASONS: Readonly<Record<string, string | null>> = {
  ...{ stop: 'end_turn', tool_calls: 'tool_use', function_call: 'tool_use', content_filter: 'refusal' },
  ...{ length: 'max_tokens', max_output_tokens: 'max_tokens', error: null },
}

interface Block {
  kind: string
  is_open: boolean
  /** A call's arguments so far, as JSON. */
  input: string
}

/** Answers of Anthropic's messages. https://docs.anthropic.com/en/api/messages-streaming */
export class AnthropicAnswer implements AnswerReader {
  readonly #blocks = new Map<number, Block>()
  #last = 0
  #has_begun = false
  #has_reason = false
  #has_stopped = false

  read(event: Json): Json[] {
    switch (event.type) {
      case 'message_start':
        return this.#begin(asRecord(event.message))
      case 'content_block_start':
        return this.#startBlock(this.#indexOf(event), asRecord(event.content_block))
      case 'content_block_delta':
        return this.#addDelta(this.#indexOf(event), asRecord(event.delta))
      case 'content_block_stop':
        return this.#stopBlock(this.#indexOf(event))
      case 'message_delta':
        return this.#endMessage(asRecord(event.delta), event.usage)
      case 'message_stop':
        return this.#stop()
      case 'ping':
        return [event]
      default:
        return []
    }
  }

  end(said: boolean): Json[] {
    return said ? this.#stop() : []
  }

  readWhole(answer: Json): Json[] | null {
    if (!Array.isArray(answer.content) || answer.role !== 'assistant') return null
    const { content, stop_reason, stop_sequence, usage, ...message } = answer
    const blocks = content
      .filter(isRecord)
      .flatMap((block, index) => [
        ...this.#startBlock(index, block),
        ...(isText(block.signature)
          ? this.#addDelta(index, { type: 'signature_delta', signature: block.signature })
          : []),
        ...this.#stopBlock(index),
      ])
    const delta = { stop_reason: stop_reason ?? 'end_turn', stop_sequence }
    return [
      ...this.#begin({ ...message, usage }),
      ...blocks,
      ...this.#endMessage(delta, usage),
      ...this.#stop(),
    ]
  }

  #indexOf({ index }: Json): number {
    this.#last = asNumber(index) ?? this.#last
    return this.#last
  }

  #begin({ id, model, usage }: Json): Json[] {
    if (this.#has_begun) return []
    this.#has_begun = true
    const counts = { input_tokens: 0, output_tokens: 0, ...asCounts(usage) }
    const message = {
      type: 'message',
      role: 'assistant',
      id: asText(id),
      model: asText(model),
      content: [],
      usage: counts,
    }
    return [{ type: 'message_start', message }]
  }

  /** A block of an unknown kind is left out with all that belongs to it. */
  #startBlock(index: number, block: Json): Json[] {
    const kind = asText(block.type) ?? ''
    this.#blocks.set(index, { kind, is_open: true, input: '' })
    const started = (content_block: Json) => ({ type: 'content_block_start', index, content_block })
    switch (kind) {
      case 'text':
        return [
          started({ type: kind, text: '' }),
          ...this.#addDelta(index, { type: 'text_delta', text: block.text }),
        ]
      case 'thinking':
        return [
          started({ type: kind, thinking: '' }),
          ...this.#addDelta(index, { type: 'thinking_delta', thinking: block.thinking }),
        ]
      case 'redacted_thinking':
        return [started({ type: kind, data: asText(block.data) ?? '' })]
      case 'tool_use': {
        const call = {
          type: kind,
          id: asText(block.id) || `toolu_${randomUUID()}`,
          name: asText(block.name) ?? '',
        }
        const input =
          isRecord(block.input) && Object.keys(block.input).length === 0 ? '' : asJsonText(block.input)
        const whole =
          input === '' ? [] : this.#addDelta(index, { type: 'input_json_delta', partial_json: input })
        return [started({ ...call, input: {} }), ...whole]
      }
      default:
        return []
    }
  }

  #addDelta(index: number, delta: Json): Json[] {
    const type = asText(delta.type) ?? ''
    const [kind, field] = DELTAS[type] ?? []
    if (kind === undefined || field === undefined) return []
    const text = type === 'input_json_delta' ? asJsonText(delta[field]) : (asText(delta[field]) ?? '')
    if (text === '') return []
    const block = this.#blocks.get(index)
    // Some proxies leave out that a text begins; of a call they would leave out its name.
    const start = !block && kind !== 'tool_use' ? this.#startBlock(index, { type: kind }) : []
    const known = this.#blocks.get(index)
    if (known?.kind !== kind || !known.is_open) return start
    if (kind === 'tool_use') known.input += text
    return [...start, { type: 'content_block_delta', index, delta: { type, [field]: text } }]
  }

  #stopBlock(index: number): Json[] {
    const block = this.#blocks.get(index)
    if (!block?.is_open) return []
    block.is_open = false
    const is_known = ['text', 'thinking', 'redacted_thinking', 'tool_use'].includes(block.kind)
    return is_known ? [{ type: 'content_block_stop', index }] : []
  }

  #endMessage(delta: Json, usage: unknown): Json[] {
    const told = asText(delta.stop_reason) ?? null
    const stop_reason = told !== null && Object.hasOwn(REASONS, told) ? (REASONS[told] ?? null) : told
    if (told === 'error') this.#has_reason = true
    this.#has_reason ||= stop_reason !== null
    const counts = { output_tokens: 0, ...asCounts(usage) }
    return [
      {
        type: 'message_delta',
        delta: { stop_reason, stop_sequence: asText(delta.stop_sequence) ?? null },
        usage: counts,
      },
    ]
  }

  #stop(): Json[] {
    if (this.#has_stopped || !this.#has_begun) return []
    this.#has_stopped = true
    const blocks = [...this.#blocks]
    const is_cut = blocks.some(
      ([, { kind, is_open, input }]) => kind === 'tool_use' && is_open && !parsesAsRecord(input),
    )
    const closed = is_cut ? [] : blocks.flatMap(([index]) => this.#stopBlock(index))
    const is_whole = !is_cut && blocks.length > 0
    const calls = blocks.some(([, { kind }]) => kind === 'tool_use')
    const reason =
      this.#has_reason || !is_whole
        ? []
        : this.#endMessage({ stop_reason: calls ? 'tool_use' : 'end_turn' }, null)
    return [...closed, ...reason, { type: 'message_stop' }]
  }
}
