/** Providers with an API that is not OpenAI's chat. */
import type { ModelSettings } from '../../src/harness/models.ts'
import {
  type Body,
  calling,
  named,
  recordsOf,
  unknownIn,
  type Wire,
  type WireError,
} from './provider-wires.ts'

/** https://docs.cohere.com/reference/chat-stream */
const COHERE: Wire = {
  model_id: 'cohere/command-a-reasoning-08-2025',
  settings: (url) => ({ named: { cohere: { api_key: 'key-of-wire', base_url: `${url}/v2` } } }),
  path: '/v2/chat',
  refuse(body, { authorization }) {
    if (authorization !== 'Bearer key-of-wire') return { status: 401, body: { message: 'invalid api token' } }
    const known = [
      'model',
      'messages',
      'tools',
      'tool_choice',
      'stream',
      'thinking',
      'max_tokens',
      'temperature',
    ]
    const name =
      unknownIn(body, known) ??
      recordsOf(body.messages)
        .map((message) => unknownIn(message, ['role', 'content', 'tool_calls', 'tool_plan', 'tool_call_id']))
        .find(Boolean)
    return name
      ? { status: 400, body: { id: '1', message: `invalid request: unknown field "${name}"` } }
      : null
  },
  results: ({ messages }) => recordsOf(messages).filter(({ role }) => role === 'tool').length,
  answer(step) {
    const message = (data: Body) => ({ index: 0, delta: { message: data } })
    const said =
      'call' in step
        ? [
            named('tool-plan-delta', message({ tool_plan: 'I run it.' })),
            named(
              'tool-call-start',
              message({ tool_calls: { ...calling(step.call.name, ''), id: step.call.id } }),
            ),
            named(
              'tool-call-delta',
              message({ tool_calls: { function: { arguments: JSON.stringify(step.call.input) } } }),
            ),
            named('tool-call-end', { index: 0 }),
          ]
        : [
            named('content-start', { ...message({ content: { type: 'text', text: '' } }), index: 1 }),
            named('content-delta', { ...message({ content: { text: step.text } }), index: 1 }),
            named('content-end', { index: 1 }),
          ]
    const usage = {
      billed_units: { input_tokens: 4, output_tokens: 2 },
      tokens: { input_tokens: 9, output_tokens: 5 },
    }
    return [
      named('message-start', { id: '1', delta: { message: { role: 'assistant', content: [] } } }),
      named('content-start', message({ content: { type: 'thinking', thinking: '' } })),
      named('content-delta', message({ content: { thinking: step.reasoning } })),
      named('content-end', { index: 0 }),
      ...said,
      named('message-end', { delta: { finish_reason: 'call' in step ? 'TOOL_CALL' : 'COMPLETE', usage } }),
    ]
  },
}

interface ResponsesWire {
  model_id: string
  settings: (url: string) => ModelSettings
  path: string
  refuse: (field: string) => WireError
  key: string
  /** A field the SDK does not know, and nobody needs. */
  odd: Body
}
const TOP = [
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'stream',
  'store',
  'include',
  'reasoning',
  'text',
  'parallel_tool_calls',
  'max_output_tokens',
]
const ITEMS: Record<string, readonly string[]> = {
  message: ['type', 'role', 'content', 'id', 'status', 'phase'],
  reasoning: ['type', 'id', 'summary', 'encrypted_content', 'status', 'content'],
  function_call: ['type', 'id', 'call_id', 'name', 'arguments', 'status'],
  function_call_output: ['type', 'id', 'call_id', 'output', 'status'],
}

/** https://platform.openai.com/docs/api-reference/responses: what was thought comes back encrypted, where nothing is stored. */
const responses = ({ model_id, settings, path, refuse, key, odd }: ResponsesWire): Wire => ({
  ...{ model_id, settings, path },
  refuse(body, headers) {
    const given = headers['api-key'] ?? headers.authorization
    if (given !== key)
      return {
        status: 401,
        body: { error: { code: '401', message: 'Access denied due to invalid subscription key' } },
      }
    const name = unknownIn(body, TOP)
    if (name) return refuse(name)
    if (body.store !== false) return refuse('store')
    const items = recordsOf(body.input)
    for (const [at, item] of items.entries()) {
      const type = typeof item.type === 'string' ? item.type : 'message'
      const odd_field = unknownIn(item, ITEMS[type] ?? [])
      if (odd_field) return refuse(`input[${at}].${odd_field}`)
      const before = items[at - 1]
      if (
        type === 'function_call' &&
        !(before?.type === 'reasoning' && before.encrypted_content === 'sealed')
      )
        return refuse(`input[${at}]: function_call was provided without its required reasoning item`)
    }
    return null
  },
  results: ({ input }) => recordsOf(input).filter(({ type }) => type === 'function_call_output').length,
  answer(step) {
    const response = { id: 'resp_1', object: 'response', created_at: 1_790_000_000, model: model_id, ...odd }
    const thought = { id: `rs_${step.turn}`, type: 'reasoning', summary: [], status: 'in_progress' }
    const done = {
      ...thought,
      summary: [{ type: 'summary_text', text: step.reasoning }],
      encrypted_content: 'sealed',
      status: 'completed',
    }
    const part = { item_id: thought.id, output_index: 0, summary_index: 0 }
    const said =
      'call' in step
        ? {
            ...{ id: `fc_${step.turn}`, type: 'function_call', call_id: step.call.id, name: step.call.name },
            ...{ arguments: JSON.stringify(step.call.input), status: 'completed' },
          }
        : {
            ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
            content: [{ type: 'output_text', text: step.text, annotations: [], logprobs: [] }],
          }
    const started =
      'call' in step
        ? { ...said, arguments: '', status: 'in_progress' }
        : { ...said, content: [], status: 'in_progress' }
    const at = { item_id: said.id, output_index: 1 }
    const pieces =
      'call' in step
        ? [
            named('response.function_call_arguments.delta', {
              ...at,
              delta: JSON.stringify(step.call.input),
            }),
            named('response.function_call_arguments.done', {
              ...at,
              name: step.call.name,
              arguments: JSON.stringify(step.call.input),
            }),
          ]
        : [
            named('response.content_part.added', {
              ...at,
              content_index: 0,
              part: { type: 'output_text', text: '', annotations: [] },
            }),
            named('response.output_text.delta', { ...at, content_index: 0, delta: step.text, logprobs: [] }),
            named('response.output_text.done', { ...at, content_index: 0, text: step.text, logprobs: [] }),
          ]
    const usage = {
      ...{ input_tokens: 9, input_tokens_details: { cached_tokens: 0 }, total_tokens: 14 },
      ...{ output_tokens: 5, output_tokens_details: { reasoning_tokens: 2 }, num_sources_used: 0 },
    }
    return [
      named('response.created', {
        response: { ...response, status: 'in_progress', output: [], usage: null },
      }),
      named('response.output_item.added', { output_index: 0, item: thought }),
      named('response.reasoning_summary_part.added', { ...part, part: { type: 'summary_text', text: '' } }),
      named('response.reasoning_summary_text.delta', { ...part, delta: step.reasoning }),
      named('response.reasoning_summary_text.done', { ...part, text: step.reasoning }),
      named('response.reasoning_summary_part.done', {
        ...part,
        part: { type: 'summary_text', text: step.reasoning },
      }),
      named('response.output_item.done', { output_index: 0, item: done }),
      named('response.output_item.added', { output_index: 1, item: started }),
      ...pieces,
      named('response.output_item.done', { output_index: 1, item: said }),
      named('response.completed', {
        response: {
          ...response,
          status: 'completed',
          output: [done, said],
          usage,
          incomplete_details: null,
          error: null,
        },
      }),
    ]
  },
})

const XAI = responses({
  model_id: 'xai/grok-4',
  settings: (url) => ({ named: { xai: { api_key: 'key-of-wire', base_url: `${url}/v1` } } }),
  ...{ path: '/v1/responses', key: 'Bearer key-of-wire' },
  refuse: (field) => ({
    status: 400,
    body: { code: 'Client specified an invalid argument', error: `Argument not supported: ${field}` },
  }),
  odd: { debug_output: null },
})

const AZURE = responses({
  model_id: 'azure/our-gpt',
  settings: (url) => ({
    azure: { api_key: 'key-of-wire', endpoint: url, deployments: { 'our-gpt': 'responses' } },
  }),
  ...{ path: '/openai/v1/responses', key: 'key-of-wire' },
  refuse: (field) => ({
    status: 400,
    body: {
      error: {
        message: `Unknown parameter: '${field}'.`,
        type: 'invalid_request_error',
        param: field,
        code: 'unknown_parameter',
      },
    },
  }),
  odd: { content_filters: [{ blocked: false, source_type: 'prompt' }] },
})

export const OWN: readonly Wire[] = [COHERE, XAI, AZURE]
