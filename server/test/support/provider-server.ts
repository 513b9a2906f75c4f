import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What a provider was asked. */
export interface ProviderRequest {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: Buffer
  /** Resolves when its connection is gone. */
  gone: Promise<unknown>
}

export interface ProviderServer {
  /** Without a path. */
  url: string
  requests: ProviderRequest[]
  close(): void
}

/** A provider that keeps what it is asked and answers as it is told to: `reply` gets the whole request. */
export async function openProviderServer(
  reply: (request: ProviderRequest, response: ServerResponse) => unknown,
): Promise<ProviderServer> {
  const requests: ProviderRequest[] = []
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers, socket } = incoming
    const gone = new Promise((resolve) => socket.once('close', resolve))
    const body = await buffer(incoming).catch(() => Buffer.alloc(0))
    const request = { method, url, headers, body, gone }
    requests.push(request)
    await reply(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** One server-sent event. */
export const event = (data: unknown, name?: string): string =>
  `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', stop_reason: null, stop_sequence: null }

/** Anthropic's messages: "Hello." for 30 input tokens, 12 of them from the cache, and 7 of output. */
export const ANTHROPIC_EVENTS: readonly string[] = [
  [
    'message_start',
    {
      message: {
        ...{ ...MESSAGE, model: 'claude-scripted', content: [] },
        usage: {
          input_tokens: 13,
          cache_creation_input_tokens: 5,
          cache_read_input_tokens: 12,
          output_tokens: 1,
        },
      },
    },
  ] as const,
  ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }] as const,
  ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hel' } }] as const,
  ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'lo.' } }] as const,
  ['content_block_stop', { index: 0 }] as const,
  [
    'message_delta',
    { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 7 } },
  ] as const,
  ['message_stop', {}] as const,
].map(([type, data]) => event({ type, ...data }, type))

/** The same in one piece. */
export const ANTHROPIC_MESSAGE = {
  ...{ ...MESSAGE, model: 'claude-scripted', stop_reason: 'end_turn' },
  content: [{ type: 'text', text: 'Hello.' }],
  usage: { input_tokens: 13, cache_creation_input_tokens: 5, cache_read_input_tokens: 12, output_tokens: 7 },
}

const googlePart = (text: string, more: object = {}) => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
  modelVersion: 'gemini-scripted',
})
const GOOGLE_USAGE = {
  ...{ promptTokenCount: 30, cachedContentTokenCount: 12, candidatesTokenCount: 4, thoughtsTokenCount: 3 },
  totalTokenCount: 37,
}
/** Google's generateContent: the same answer. */
export const GOOGLE_PARTS: readonly object[] = [
  googlePart('Hel'),
  { ...googlePart('lo.', { finishReason: 'STOP' }), usageMetadata: GOOGLE_USAGE },
]
export const GOOGLE_ANSWER = {
  ...googlePart('Hello.', { finishReason: 'STOP' }),
  usageMetadata: GOOGLE_USAGE,
}

const RESPONSE = {
  ...{ id: 'resp_1', object: 'response', created_at: 1_700_000_000, model: 'gpt-scripted' },
  ...{ error: null, incomplete_details: null, tools: [], parallel_tool_calls: true, tool_choice: 'auto' },
}
const ITEM = { id: 'item_1', type: 'message', role: 'assistant', status: 'completed' }
const OUTPUT = [{ ...ITEM, content: [{ type: 'output_text', text: 'Hello.', annotations: [] }] }]
/** OpenAI's responses: the same answer. */
export const OPENAI_RESPONSE = {
  ...{ ...RESPONSE, status: 'completed', output: OUTPUT },
  usage: {
    ...{ input_tokens: 30, input_tokens_details: { cached_tokens: 12 }, total_tokens: 37 },
    ...{ output_tokens: 7, output_tokens_details: { reasoning_tokens: 3 } },
  },
}
export const OPENAI_EVENTS: readonly string[] = [
  [
    'response.created',
    { response: { ...RESPONSE, status: 'in_progress', output: [], usage: null } },
  ] as const,
  ['response.output_item.added', { output_index: 0, item: { ...ITEM, content: [] } }] as const,
  [
    'response.output_text.delta',
    { item_id: 'item_1', output_index: 0, content_index: 0, delta: 'Hello.' },
  ] as const,
  ['response.output_item.done', { output_index: 0, item: OUTPUT[0] }] as const,
  ['response.completed', { response: OPENAI_RESPONSE }] as const,
].map(([type, data], sequence_number) => event({ type, sequence_number, ...data }, type))
