import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ModelApi, ModelUsage } from '../../src/gateway/gateway.ts'
import { createModelGateway } from '../../src/gateway/model-gateway.ts'
import {
  ANTHROPIC_EVENTS,
  ANTHROPIC_MESSAGE,
  event,
  GOOGLE_ANSWER,
  GOOGLE_PARTS,
  OPENAI_EVENTS,
  OPENAI_RESPONSE,
  openProviderServer,
  type ProviderRequest,
} from './provider-server.ts'

export const GATE_KEY = 'sk-canary-5f0d1c7b9a'
export const GATE_TOKEN = 'rym_0123456789abcdefghij'

/** Providers as their official clients expect them, and the gateway in front of them. */
export interface ModelGate extends AsyncDisposable {
  /** Clients add the provider's name, and what they always add. */
  url: string
  requests: ProviderRequest[]
  used: ModelUsage[]
}

export async function openModelGate(): Promise<ModelGate> {
  const provider = await openProviderServer(answer)
  const used: ModelUsage[] = []
  const to = (api: ModelApi, path: string) => ({ api, api_key: GATE_KEY, base_url: `${provider.url}${path}` })
  const gateway = createModelGateway(
    {
      token: GATE_TOKEN,
      providers: {
        openai: to('openai', '/openai/v1'),
        anthropic: to('anthropic', '/anthropic/v1'),
        google: to('google', '/google/v1beta'),
      },
      tokens_left: null,
    },
    { onUsed: (one) => used.push(one), onCall() {} },
  )
  const server = createServer((incoming, response) => {
    void gateway.answer(incoming, response, new AbortController().signal)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    ...{ requests: provider.requests, used },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`,
    async [Symbol.asyncDispose]() {
      await gateway.idle()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      provider.close()
    },
  }
}

const CHAT = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'gpt-scripted' }
const CHAT_USAGE = {
  prompt_tokens: 30,
  completion_tokens: 7,
  total_tokens: 37,
  prompt_tokens_details: { cached_tokens: 12 },
}
const chunk = (delta: object, finish_reason: string | null = null) =>
  event({ ...CHAT, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
const CHAT_EVENTS = [
  chunk({ role: 'assistant', content: 'Hel' }),
  chunk({ content: 'lo.' }),
  chunk({}, 'stop'),
  event({ ...CHAT, object: 'chat.completion.chunk', choices: [], usage: CHAT_USAGE }),
  event('[DONE]'),
]
const CHAT_WHOLE = {
  ...{ ...CHAT, object: 'chat.completion', usage: CHAT_USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
}
const INTERACTION = {
  ...{ id: 'int_1', object: 'interaction', model: 'gemini-scripted', status: 'completed', role: 'model' },
  ...{ created: '2026-11-26T00:00:00Z', updated: '2026-11-26T00:00:00Z' },
  steps: [{ type: 'model_output', content: [{ type: 'text', text: 'Hello.' }] }],
  usage: {
    total_input_tokens: 30,
    total_output_tokens: 4,
    total_thought_tokens: 3,
    total_cached_tokens: 12,
    total_tokens: 37,
  },
}
const OPENAI_MODEL = { id: 'gpt-scripted', object: 'model', created: 1_790_000_000, owned_by: 'acme' }
const ANTHROPIC_MODEL = {
  type: 'model',
  id: 'claude-scripted',
  display_name: 'Claude',
  created_at: '2026-01-01T00:00:00Z',
}
const GOOGLE_MODEL = {
  name: 'models/gemini-scripted',
  displayName: 'Gemini',
  supportedGenerationMethods: ['generateContent'],
}
const VECTOR = { object: 'embedding', index: 0, embedding: [0.5, 0.25] }

/** Clients that put the pieces together want each of them announced. */
const RESPONSES_EVENTS = OPENAI_EVENTS.toSpliced(
  2,
  0,
  event({
    ...{
      type: 'response.content_part.added',
      item_id: 'item_1',
      output_index: 0,
      content_index: 0,
      sequence_number: 2,
    },
    part: { type: 'output_text', text: '', annotations: [] },
  }),
)

/** By method and path: the whole answer, or the events of a stream. */
const ANSWERS: ReadonlyArray<[RegExp, object, (readonly string[])?]> = [
  [/^POST \/openai\/v1\/chat\/completions$/, CHAT_WHOLE, CHAT_EVENTS],
  [/^POST \/openai\/v1\/responses$/, OPENAI_RESPONSE, RESPONSES_EVENTS],
  [/^POST \/openai\/v1\/responses\/compact$/, { ...OPENAI_RESPONSE, object: 'response.compaction' }],
  [/^POST \/openai\/v1\/responses\/input_tokens$/, { object: 'response.input_tokens', input_tokens: 30 }],
  [/^GET \/openai\/v1\/responses\/resp_1\/input_items/, { object: 'list', data: [], has_more: false }],
  [/^GET \/openai\/v1\/responses\/resp_1$/, OPENAI_RESPONSE],
  [/^DELETE \/openai\/v1\/responses\/resp_1$/, { id: 'resp_1', object: 'response', deleted: true }],
  [
    /^POST \/openai\/v1\/completions$/,
    {
      ...CHAT,
      object: 'text_completion',
      choices: [{ index: 0, text: 'Hello.', finish_reason: 'stop' }],
      usage: CHAT_USAGE,
    },
  ],
  [
    /^POST \/openai\/v1\/embeddings$/,
    { object: 'list', model: 'embed-scripted', data: [VECTOR], usage: { prompt_tokens: 5, total_tokens: 5 } },
  ],
  [
    /^POST \/openai\/v1\/moderations$/,
    { id: 'm', model: 'moderation', results: [{ flagged: false, categories: {}, category_scores: {} }] },
  ],
  [/^GET \/openai\/v1\/models$/, { object: 'list', data: [OPENAI_MODEL] }],
  [/^GET \/openai\/v1\/models\/vendor%2Fgpt-scripted$/, OPENAI_MODEL],
  [/^POST \/anthropic\/v1\/messages(\?beta=true)?$/, ANTHROPIC_MESSAGE, ANTHROPIC_EVENTS],
  [/^POST \/anthropic\/v1\/messages\/count_tokens(\?beta=true)?$/, { input_tokens: 30 }],
  [
    /^GET \/anthropic\/v1\/models(\?beta=true)?$/,
    { data: [ANTHROPIC_MODEL], has_more: false, first_id: null, last_id: null },
  ],
  [/^GET \/anthropic\/v1\/models\/claude-scripted(\?beta=true)?$/, ANTHROPIC_MODEL],
  [
    /^POST \/google\/v1(beta|alpha)?\/models\/gemini-scripted:(streamG|g)enerateContent/,
    GOOGLE_ANSWER,
    GOOGLE_PARTS.map((part) => event(part)),
  ],
  [/^POST \/google\/v1(beta|alpha)?\/models\/gemini-scripted:countTokens$/, { totalTokens: 30 }],
  [/^POST \/google\/v1(beta|alpha)?\/models\/embed-scripted:embedContent$/, { embedding: { values: [0.5] } }],
  [
    /^POST \/google\/v1(beta|alpha)?\/models\/embed-scripted:batchEmbedContents$/,
    { embeddings: [{ values: [0.5] }] },
  ],
  [/^GET \/google\/v1(beta|alpha)?\/models(\?|$)/, { models: [GOOGLE_MODEL] }],
  [/^GET \/google\/v1(beta|alpha)?\/models\/gemini-scripted$/, GOOGLE_MODEL],
  [
    /^POST \/google\/v1(beta|alpha)?\/interactions$/,
    INTERACTION,
    [
      event(
        {
          event_type: 'interaction.created',
          interaction: { ...INTERACTION, status: 'in_progress', usage: undefined, steps: [] },
        },
        'interaction.created',
      ),
      event({ event_type: 'step.start', index: 0, step: { type: 'model_output' } }, 'step.start'),
      event({ event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'Hello.' } }, 'step.delta'),
      event({ event_type: 'step.stop', index: 0 }, 'step.stop'),
      event({ event_type: 'interaction.completed', interaction: INTERACTION }, 'interaction.completed'),
      event('[DONE]', 'done'),
    ],
  ],
  [/^GET \/google\/v1(beta|alpha)?\/interactions\/int_1$/, INTERACTION],
]

function answer({ method, url, body, headers }: ProviderRequest, response: ServerResponse): void {
  const given =
    headers['x-api-key'] ?? headers['x-goog-api-key'] ?? headers.authorization?.replace('Bearer ', '')
  const found = given === GATE_KEY ? ANSWERS.find(([at]) => at.test(`${method} ${url}`)) : undefined
  if (!found) {
    const error = {
      code: 404,
      message: `${method} ${url} is not there`,
      status: 'NOT_FOUND',
      type: 'not_found_error',
    }
    response
      .writeHead(404, { 'content-type': 'application/json' })
      .end(JSON.stringify({ type: 'error', error }))
    return
  }
  const [, whole, events] = found
  const streams = /:streamGenerateContent|"stream": ?true/.test(`${url} ${body}`)
  if (streams && events) {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
    return
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
}
