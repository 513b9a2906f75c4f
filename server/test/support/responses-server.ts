import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { MessageServer } from './message-server.ts'
import type { ChatMessage, ChatRequest, Reply } from './model-server.ts'
import { event } from './provider-server.ts'

interface Item {
  type: string
  role?: 'system' | 'developer' | 'user' | 'assistant'
  content?: Array<{ type: string; text?: string }> | string
  output?: unknown
}
interface ResponsesRequest {
  model: string
  input: Item[] | string
  tools?: Array<{ type: string; name?: string; parameters?: unknown }>
}

/** A scripted model behind OpenAI's responses, over real HTTP and server-sent events. */
export async function openResponsesServer(
  script: (request: ChatRequest) => Reply,
  api_key: string,
): Promise<MessageServer> {
  const requests: ChatRequest[] = []
  const server = createServer(async (incoming, response) => {
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    if (incoming.headers.authorization !== `Bearer ${api_key}`)
      return send(401, { error: { message: 'Incorrect API key provided.', code: 'invalid_api_key' } })
    if (incoming.url === '/v1/models') return send(200, { object: 'list', data: [{ id: 'scripted' }] })
    if (incoming.url !== '/v1/responses') return send(404, { error: { message: 'Not found' } })
    const body = (await json(incoming)) as ResponsesRequest
    const request = asChat(body)
    requests.push(request)
    const reply = script(request)
    if (reply.error) return send(reply.error.status, reply.error.body as object)
    answer(response, body, reply)
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

function asChat({ model, input, tools = [] }: ResponsesRequest): ChatRequest {
  const items =
    typeof input === 'string' ? [{ type: 'message', role: 'user' as const, content: input }] : input
  return {
    model,
    messages: items.flatMap(({ type, role, content, output }: Item): ChatMessage[] => {
      if (type === 'function_call_output')
        return [{ role: 'tool', content: typeof output === 'string' ? output : JSON.stringify(output) }]
      return type === 'message' && role ? [{ role, content: content ?? '' }] : []
    }),
    tools: tools.flatMap(({ name, parameters }) =>
      name === undefined ? [] : [{ function: { name, parameters } }],
    ),
  }
}

let ids = 0

function answer(response: ServerResponse, { model }: ResponsesRequest, reply: Reply): void {
  ids += 1
  const texts = [reply.text ?? []].flat()
  const message = { id: `msg_${ids}`, type: 'message', role: 'assistant', status: 'completed' }
  const output = [
    ...(texts.length > 0
      ? [{ ...message, content: [{ type: 'output_text', text: texts.join(''), annotations: [] }] }]
      : []),
    ...(reply.calls ?? []).map(({ name, arguments: input }, at) => ({
      ...{ id: `fc_${ids}_${at}`, type: 'function_call', status: 'completed', name },
      ...{ call_id: `call_${ids}_${at}`, arguments: JSON.stringify(input) },
    })),
  ]
  const whole = { id: `resp_${ids}`, object: 'response', created_at: 1_700_000_000, model, error: null }
  const usage = {
    ...{ input_tokens: 10, input_tokens_details: { cached_tokens: 0 }, total_tokens: 15 },
    ...{ output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 } },
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let sequence_number = 0
  const send = (type: string, data: object) => {
    response.write(event({ type, sequence_number, ...data }, type))
    sequence_number += 1
  }
  send('response.created', { response: { ...whole, status: 'in_progress', output: [], usage: null } })
  for (const [output_index, item] of output.entries()) {
    send('response.output_item.added', { output_index, item: { ...item, status: 'in_progress' } })
    if (item.type === 'message')
      for (const delta of texts)
        send('response.output_text.delta', { item_id: item.id, output_index, content_index: 0, delta })
    send('response.output_item.done', { output_index, item })
  }
  send('response.completed', { response: { ...whole, status: 'completed', output, usage } })
  response.end()
}
