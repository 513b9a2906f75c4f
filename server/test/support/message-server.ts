import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ChatMessage, ChatRequest, Reply } from './model-server.ts'
import { event } from './provider-server.ts'

type Block = {
  type: string
  text?: string
  content?: unknown
  id?: string
  tool_use_id?: string
  name?: string
}
interface MessagesRequest {
  model: string
  stream?: boolean
  system?: unknown
  messages: Array<{ role: 'user' | 'assistant'; content: string | Block[] }>
  tools?: Array<{ name: string; description?: string; input_schema: unknown }>
}

export interface MessageServer {
  /** The base URL, with `/v1`. */
  url: string
  /** As requests of OpenAI's chat, so that one script serves both. */
  requests: ChatRequest[]
  close(): Promise<void>
}

/** A scripted model behind Anthropic's messages, over real HTTP and server-sent events. */
export async function openMessageServer(script: (request: ChatRequest) => Reply): Promise<MessageServer> {
  const requests: ChatRequest[] = []
  const server = createServer(async (incoming, response) => {
    if (incoming.method !== 'POST' || !incoming.url?.startsWith('/v1/messages')) {
      response.writeHead(incoming.url?.startsWith('/v1/models') ? 200 : 404, {
        'content-type': 'application/json',
      })
      return response.end(
        JSON.stringify({ data: [{ type: 'model', id: 'claude-scripted', display_name: 'Scripted' }] }),
      )
    }
    const body = (await json(incoming)) as MessagesRequest
    if (incoming.url.startsWith('/v1/messages/count_tokens')) {
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end('{"input_tokens":10}')
    }
    const request = asChat(body)
    requests.push(request)
    await answer(response, body, script(request))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const blocksOf = (content: string | Block[]): Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content

/** Results of tools come as messages of the user. */
function asChat({ model, messages, tools }: MessagesRequest): ChatRequest {
  return {
    model,
    messages: messages.flatMap(({ role, content }): ChatMessage[] => {
      const blocks = blocksOf(content)
      const results = blocks.filter(({ type }) => type === 'tool_result')
      const texts = blocks.flatMap(({ text }) => (text === undefined ? [] : [{ type: 'text', text }]))
      return [
        ...results.map((block): ChatMessage => ({ role: 'tool', content: JSON.stringify(block.content) })),
        ...(texts.length > 0 ? [{ role, content: texts }] : []),
      ]
    }),
    tools: (tools ?? []).map(({ name, input_schema }) => ({ function: { name, parameters: input_schema } })),
  }
}

async function answer(
  response: ServerResponse,
  { model, stream }: MessagesRequest,
  reply: Reply,
): Promise<void> {
  if (reply.error) {
    const {
      status,
      body = { type: 'error', error: { type: 'api_error', message: `scripted ${status}` } },
      headers,
    } = reply.error
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    return void response.end(JSON.stringify(body))
  }
  const content = [
    ...[reply.text ?? []].flat().map((text) => ({ type: 'text', text })),
    ...(reply.calls ?? []).map(({ name, arguments: input }, index) => ({
      type: 'tool_use',
      id: `toolu_${Date.now()}_${index}`,
      name,
      input,
    })),
  ]
  const stop_reason = reply.calls?.length ? 'tool_use' : 'end_turn'
  const usage = { input_tokens: 10, output_tokens: 5 }
  const message = { id: `msg_${Date.now()}`, type: 'message', role: 'assistant', model, stop_sequence: null }
  if (!stream) {
    response.writeHead(200, { 'content-type': 'application/json' })
    return void response.end(JSON.stringify({ ...message, content, stop_reason, usage }))
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = async (type: string, data: object) => {
    response.write(event({ type, ...data }, type))
  }
  await reply.pace?.(0)
  await send('message_start', {
    message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  })
  for (const [index, block] of content.entries()) {
    await reply.pace?.(index + 1)
    if ('text' in block) {
      await send('content_block_start', { index, content_block: { type: 'text', text: '' } })
      await send('content_block_delta', { index, delta: { type: 'text_delta', text: block.text } })
    } else {
      await send('content_block_start', { index, content_block: { ...block, input: {} } })
      await send('content_block_delta', {
        index,
        delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
      })
    }
    await send('content_block_stop', { index })
  }
  await send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage })
  await send('message_stop', {})
  response.end()
}
