import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { MessageServer } from './message-server.ts'
import type { ChatMessage, ChatRequest, Reply } from './model-server.ts'
import { event } from './provider-server.ts'

interface Content {
  role?: string
  parts?: Array<{ text?: string; functionResponse?: { response?: unknown } }>
}
interface ContentRequest {
  contents?: Content[]
  tools?: Array<{ functionDeclarations?: Array<{ name: string; parameters?: unknown }> }>
}

const MODEL = 'gemini-2.5-pro'

/** A scripted model behind Google's generateContent, over real HTTP and server-sent events. */
export async function openContentServer(
  script: (request: ChatRequest) => Reply,
  api_key: string,
): Promise<MessageServer> {
  const requests: ChatRequest[] = []
  const server = createServer(async (incoming, response) => {
    const send = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://localhost')
    if (incoming.headers['x-goog-api-key'] !== api_key)
      return send(400, { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } })
    if (pathname === '/v1beta/models')
      return send(200, {
        models: [{ name: `models/${MODEL}`, supportedGenerationMethods: ['generateContent'] }],
      })
    if (pathname.endsWith(':countTokens')) return send(200, { totalTokens: 10 })
    const [, model = ''] = /models\/([^:]+):(?:generate|streamGenerate)Content$/.exec(pathname) ?? []
    if (model === '') return send(404, { error: { code: 404, message: 'Not found', status: 'NOT_FOUND' } })
    const request = asChat(model, (await json(incoming)) as ContentRequest)
    requests.push(request)
    const reply = script(request)
    if (reply.error) return send(reply.error.status, reply.error.body as object)
    const pieces = piecesOf(model, reply)
    if (searchParams.get('alt') !== 'sse') {
      const parts = pieces.flatMap(({ candidates: [{ content }] }) => content.parts)
      const last = pieces.at(-1)
      return send(200, {
        ...last,
        candidates: [{ ...last?.candidates[0], content: { role: 'model', parts } }],
      })
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) response.write(event(piece))
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1beta`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function asChat(model: string, { contents = [], tools = [] }: ContentRequest): ChatRequest {
  return {
    model,
    messages: contents.flatMap(({ role, parts = [] }): ChatMessage[] => {
      const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [{ type: 'text', text }]))
      return [
        ...parts.flatMap(({ functionResponse }): ChatMessage[] =>
          functionResponse ? [{ role: 'tool', content: JSON.stringify(functionResponse.response) }] : [],
        ),
        ...(texts.length > 0
          ? [{ role: role === 'model' ? ('assistant' as const) : ('user' as const), content: texts }]
          : []),
      ]
    }),
    tools: tools
      .flatMap(({ functionDeclarations = [] }) => functionDeclarations)
      .map(({ name, parameters }) => ({ function: { name, parameters } })),
  }
}

function piecesOf(modelVersion: string, { text, calls = [] }: Reply) {
  const parts = [
    ...[text ?? []].flat().map((piece) => ({ text: piece })),
    ...calls.map(({ name, arguments: args }) => ({ functionCall: { name, args } })),
  ]
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }
  return parts.map((part, at) => ({
    candidates: [
      {
        ...{ content: { role: 'model', parts: [part] }, index: 0 },
        ...(at === parts.length - 1 ? { finishReason: 'STOP' } : {}),
      },
    ] as const,
    modelVersion,
    ...(at === parts.length - 1 ? { usageMetadata } : {}),
  }))
}
