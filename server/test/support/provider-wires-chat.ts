import type { NamedProviderName } from '../../src/harness/named-providers.ts'
import { event } from './provider-server.ts'
import { type Body, recordsOf, type Wire, type WireError, type WireStep } from './provider-wires.ts'

/** What OpenAI's chat API is like at one provider. */
interface ChatWire {
  name: NamedProviderName
  model: string
  /** In front of `/chat/completions`, and what goes behind the server's address as its base URL. */
  base: string
  chat?: string
  /** Top fields besides those that all take. */
  fields: readonly string[]
  /** Of an assistant's message, besides `role`, `content` and `tool_calls`. */
  assistant: readonly string[]
  /** The field in which reasoning has to come back with calls. */
  wants?: string
  ids?: RegExp
  /** `at`: the place of a message, or nothing. */
  unknown(field: string, at?: number): WireError
  /** Deltas of a piece of reasoning. */
  think(text: string, id: string): Body[]
  /** The usage is in the last chunk, not in one of its own. */
  ends?: 'with its usage'
  /** What the provider sends besides. */
  odd?: { before?: string[]; chunk?: Body; last?: Body; call?: Body }
}

const EVERYWHERE = [
  'model',
  'messages',
  'tools',
  'tool_choice',
  'stream',
  'max_tokens',
  'temperature',
  'top_p',
]
const bad = (message: string, more: Body = {}, status = 400): WireError => ({
  status,
  body: { error: { message, type: 'invalid_request_error', ...more } },
})
/** What pydantic says. */
const extra = (field: string, at?: number): unknown => [
  {
    type: 'extra_forbidden',
    loc: ['body', ...(at === undefined ? [] : ['messages', at, 'assistant']), field],
    msg: 'Extra inputs are not permitted',
  },
]
const place = (field: string, at?: number): string => (at === undefined ? field : `messages[${at}].${field}`)
const inField = (name: string) => (text: string) => [{ [name]: text.slice(0, 4) }, { [name]: text.slice(4) }]

/** It says what was used in a field of its own. */
const GROQ_USAGE = {
  last: { x_groq: { id: 'req_1', usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } } },
}

const CHAT_WIRES: readonly ChatWire[] = [
  {
    // https://console.groq.com/docs/api-reference; karthink/gptel#774, janhq/jan#8136
    ...{ name: 'groq', model: 'openai/gpt-oss-120b', base: '/openai/v1' },
    fields: [
      'stream_options',
      'reasoning_effort',
      'reasoning_format',
      'max_completion_tokens',
      'parallel_tool_calls',
    ],
    assistant: ['reasoning'],
    unknown: (field, at) =>
      bad(
        at === undefined
          ? `property '${field}' is unsupported`
          : `'messages.${at}' : for 'role:assistant' the following must be satisfied[('messages.${at}' : property '${field}' is unsupported)]`,
      ),
    think: (text) => inField('reasoning')(text).map((delta) => ({ ...delta, channel: 'analysis' })),
    odd: {
      last: { x_groq: { id: 'req_1', usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 } } },
    },
  },
  {
    // Its other models refuse the reasoning that they themselves have sent.
    ...{ name: 'groq', model: 'qwen/qwen3-32b', base: '/openai/v1' },
    fields: [
      'stream_options',
      'reasoning_effort',
      'reasoning_format',
      'max_completion_tokens',
      'parallel_tool_calls',
    ],
    assistant: [],
    unknown: (field, at) =>
      bad(`'messages.${at}' : property '${field}' is unsupported, did you mean 'role'?`),
    think: inField('reasoning'),
    odd: GROQ_USAGE,
  },
  {
    // https://docs.mistral.ai/api; charmbracelet/crush#1590, BerriAI/litellm#30835, editor-code-assistant/eca#231
    ...{ name: 'mistral', model: 'magistral-medium-latest', base: '/v1' },
    fields: [
      'parallel_tool_calls',
      'prompt_mode',
      'random_seed',
      'stop',
      'reasoning_effort',
      'response_format',
    ],
    assistant: ['prefix'],
    ids: /^[a-zA-Z0-9]{9}$/,
    unknown: (field, at) => ({
      status: 422,
      body: {
        object: 'error',
        message: { detail: extra(field, at) },
        type: 'invalid_request_error',
        code: null,
      },
    }),
    think: (text) => [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }],
    odd: { chunk: { p: 'abcdefgh' } },
    ends: 'with its usage',
  },
  {
    // https://api-docs.deepseek.com/guides/thinking_mode: with tools, what it thought has to come back.
    ...{ name: 'deepseek', model: 'deepseek-reasoner', base: '/v1' },
    fields: ['stream_options', 'thinking', 'reasoning_effort', 'response_format'],
    ...{ assistant: ['reasoning_content', 'prefix'], wants: 'reasoning_content' },
    unknown: (field, at) =>
      bad(`Failed to deserialize the JSON body into the target type: unknown field ${place(field, at)}`, {
        ...{ param: null, code: 'invalid_request_error' },
      }),
    think: (text) => inField('reasoning_content')(text).map((delta) => ({ content: null, ...delta })),
    odd: {
      before: [': keep-alive\n\n', ': keep-alive\n\n'],
      chunk: { system_fingerprint: 'fp_1', usage: null },
    },
  },
  {
    // https://openrouter.ai/docs/use-cases/reasoning-tokens; opencode#4832: Gemini wants its signatures back.
    ...{ name: 'openrouter', model: 'google/gemini-3-pro-preview', base: '/api/v1' },
    fields: [
      'stream_options',
      'reasoning',
      'usage',
      'provider',
      'plugins',
      'cache_control',
      'parallel_tool_calls',
      'include_reasoning',
    ],
    ...{ assistant: ['reasoning', 'reasoning_details', 'annotations'], wants: 'reasoning_details' },
    unknown: (field, at) => bad(`Unrecognized key: ${place(field, at)}`, { code: 400 }),
    think: (text, id) => [
      {
        ...{ reasoning: text, content: '', role: 'assistant' },
        reasoning_details: [{ type: 'reasoning.text', text, format: 'google-gemini-v1', index: 0 }],
      },
      {
        content: '',
        reasoning_details: [
          { type: 'reasoning.encrypted', data: `signed:${id}`, id, format: 'google-gemini-v1', index: 1 },
        ],
      },
    ],
    odd: { before: [': OPENROUTER PROCESSING\n\n'], chunk: { provider: 'Google AI Studio' } },
  },
  {
    // https://docs.together.ai/reference/chat-completions-1
    ...{ name: 'together', model: 'openai/gpt-oss-120b', base: '/v1' },
    fields: ['stream_options', 'reasoning_effort', 'reasoning', 'response_format'],
    assistant: [],
    unknown: (field, at) =>
      bad(`Input validation error: unexpected ${place(field, at)}`, { param: field, code: null }),
    think: inField('reasoning'),
    odd: { chunk: { usage: null, prompt: [] } },
  },
  {
    // https://inference-docs.cerebras.ai/api-reference/chat-completions; egoist/chatwise-releases#1442, qwen-code#11045
    ...{ name: 'cerebras', model: 'zai-glm-4.7', base: '/v1' },
    fields: [
      'stream_options',
      'reasoning_effort',
      'max_completion_tokens',
      'parallel_tool_calls',
      'response_format',
    ],
    assistant: ['reasoning'],
    unknown: (field, at) => {
      const way = at === undefined ? field : `messages.${at}.assistant.${field}`
      const message = `${way}: property '${way}' is unsupported`
      return {
        status: 400,
        body: { message, type: 'invalid_request_error', param: 'validation_error', code: 'wrong_api_format' },
      }
    },
    think: inField('reasoning'),
    odd: { chunk: { time_info: { queue_time: 0.1 } } },
  },
  {
    // https://docs.fireworks.ai/api-reference/post-chatcompletions
    ...{ name: 'fireworks', model: 'accounts/fireworks/models/kimi-k2-thinking', base: '/inference/v1' },
    fields: ['stream_options', 'reasoning_effort', 'reasoning_history', 'thinking', 'response_format'],
    assistant: ['reasoning_content'],
    unknown: (field, at) =>
      bad(`Extra inputs are not permitted, field: '${place(field, at)}', value: '…'`, { object: 'error' }),
    think: inField('reasoning_content'),
    odd: { chunk: { usage: null } },
  },
  {
    // https://deepinfra.com/docs/openai_api
    ...{ name: 'deepinfra', model: 'openai/gpt-oss-120b', base: '/v1', chat: '/v1/openai' },
    fields: ['stream_options', 'reasoning_effort', 'response_format'],
    assistant: [],
    unknown: (field, at) => ({ status: 422, body: { detail: extra(field, at) } }),
    think: inField('reasoning_content'),
    odd: { last: { estimated_cost: 0.000_01 } },
  },
  {
    // https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model: what it thought has to come back.
    ...{ name: 'moonshot', model: 'kimi-k2-thinking', base: '/v1' },
    fields: ['stream_options', 'thinking', 'response_format', 'reasoning_effort', 'prompt_cache_key'],
    ...{ assistant: ['reasoning_content', 'partial', 'name'], wants: 'reasoning_content' },
    unknown: (field, at) => bad(`Invalid request: unknown field ${place(field, at)}`),
    think: inField('reasoning_content'),
    odd: { call: { index: 0 } },
  },
  {
    // https://www.alibabacloud.com/help/en/model-studio/deep-thinking: later pieces of a call have an empty id.
    ...{ name: 'alibaba', model: 'qwen3-max', base: '/compatible-mode/v1' },
    fields: [
      'stream_options',
      'enable_thinking',
      'thinking_budget',
      'parallel_tool_calls',
      'preserve_thinking',
      'response_format',
      'reasoning_effort',
    ],
    assistant: ['reasoning_content', 'partial'],
    unknown: (field, at) =>
      bad(`<400> InternalError.Algo.InvalidParameter: unknown ${place(field, at)}`, {
        code: 'invalid_parameter_error',
        param: null,
      }),
    think: (text) => inField('reasoning_content')(text).map((delta) => ({ content: null, ...delta })),
    odd: { call: { id: '', type: 'function' }, chunk: { usage: null, system_fingerprint: null } },
  },
]

export const CHAT: readonly Wire[] = CHAT_WIRES.map(
  (wire): Wire => ({
    model_id: `${wire.name}/${wire.model}`,
    settings: (url) => ({
      named: { [wire.name]: { api_key: 'key-of-wire', base_url: `${url}${wire.base}` } },
    }),
    path: `${wire.chat ?? wire.base}/chat/completions`,
    refuse(body, { authorization }) {
      if (authorization !== 'Bearer key-of-wire') return bad('Invalid API key', {}, 401)
      return refuseChat(wire, body)
    },
    results: ({ messages }) => recordsOf(messages).filter(({ role }) => role === 'tool').length,
    answer: (step) => answerChat(wire, step),
  }),
)

function refuseChat(wire: ChatWire, body: Body): WireError | null {
  const top = [...EVERYWHERE, ...wire.fields]
  const field = Object.keys(body).find((name) => !top.includes(name))
  if (field !== undefined) return wire.unknown(field)
  for (const [at, message] of recordsOf(body.messages).entries()) {
    const known =
      { assistant: ['tool_calls', ...wire.assistant], tool: ['tool_call_id', 'name'] }[
        String(message.role)
      ] ?? []
    const name = Object.keys(message).find((key) => !['role', 'content', ...known].includes(key))
    if (name !== undefined) return wire.unknown(name, at)
    for (const { id } of recordsOf(message.tool_calls))
      if (wire.ids && !wire.ids.test(String(id))) return wire.unknown('tool_calls.id', at)
    if (wire.wants && Array.isArray(message.tool_calls) && !holds(message[wire.wants]))
      return bad(`${wire.wants} is missing in assistant tool call message at index ${at}`)
  }
  return null
}

/** Some text or, of a list, what was signed. */
const holds = (value: unknown): boolean =>
  Array.isArray(value)
    ? /"data":"signed:/.test(JSON.stringify(value))
    : typeof value === 'string' && value !== ''

function answerChat({ model, ids, think, ends, odd = {} }: ChatWire, step: WireStep): string[] {
  const head = { id: 'cmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model, ...odd.chunk }
  const chunk = (delta: Body, finish_reason: string | null = null, more: Body = {}) =>
    event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }], ...more })
  const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 }
  const said = 'call' in step ? callOf(step.call, odd.call, ids) : [{ content: step.text }]
  const id = 'call' in step ? step.call.id : 'end'
  return [
    ...(odd.before ?? []),
    chunk({ role: 'assistant', content: '' }),
    ...think(step.reasoning, id).map((delta) => chunk(delta)),
    ...said.map((delta) => chunk(delta)),
    chunk({}, 'call' in step ? 'tool_calls' : 'stop', ends ? { usage } : {}),
    ...(ends ? [] : [event({ ...head, choices: [], usage, ...odd.last })]),
    event('[DONE]'),
  ]
}

/** In two pieces, but where calls come whole. */
function callOf(
  { id, name, input }: Extract<WireStep, { call: object }>['call'],
  again: Body | undefined,
  ids: RegExp | undefined,
): Body[] {
  const text = JSON.stringify(input)
  if (ids)
    return [{ tool_calls: [{ id: `D681PevK${id.at(5)}`, function: { name, arguments: text }, index: 0 }] }]
  const first = { index: 0, id, type: 'function', function: { name, arguments: text.slice(0, 9) } }
  const second = { index: 0, ...again, function: { arguments: text.slice(9) } }
  return [{ tool_calls: [first] }, { tool_calls: [second] }]
}
