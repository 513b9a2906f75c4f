import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { findRefusal } from './chat-rules.ts'
import { event } from './provider-server.ts'

/** What the model does for one request. Everything is optional: `{}` is an empty answer that ends properly. */
export interface Reply {
  reasoning?: string[]
  /** Text, in the chunks it is streamed in. */
  text?: string | string[]
  calls?: ScriptedCall[]
  usage?: { prompt_tokens: number; completion_tokens: number; cached_tokens?: number }
  finish_reason?: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  /** Milliseconds before each chunk. */
  delay_ms?: number
  /** Awaited before each chunk: 0 opens the message, then come reasoning, text and calls. A test holds the stream with it. */
  pace?: (chunk: number) => Promise<unknown> | undefined
  /**
   * How the stream breaks after its content: `stall` sends nothing more and stays open, `drop` resets the connection,
   * `error` sends an error chunk, `eof` ends the body without a finish reason, `endless` repeats the text for ever,
   * `endless-line` one event that never ends, `keep-alive` comments for ever.
   */
  fault?: 'stall' | 'drop' | 'error' | 'eof' | 'endless' | 'endless-line' | 'keep-alive'
  /** Answers with this error instead. */
  error?: { status: number; body?: unknown; headers?: Record<string, string> }
}

export interface ScriptedCall {
  name: string
  /** Sent as JSON, in fragments; a string is sent as it is, to make malformed arguments. */
  arguments: Record<string, unknown> | string
  id?: string
}

export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  content: string | Array<{ type: string; text?: string }> | null
  tool_calls?: Array<{ id: string; function: { name: string; arguments: string } }>
  tool_call_id?: string
}

export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  stream?: boolean
  stream_options?: { include_usage?: boolean }
  tools?: Array<{ function: { name: string; description?: string; parameters: unknown } }>
}

export interface RecordedRequest {
  headers: IncomingHttpHeaders
  body: ChatRequest
}

/** Replies in order, or a function of the request, for scripts that must not depend on how often they are asked. */
export type Script = Reply[] | ((request: ChatRequest, index: number) => Reply)

export interface ModelServer extends AsyncDisposable {
  /** The base URL, with `/v1`. */
  url: string
  /** Chat requests so far. */
  requests: RecordedRequest[]
  close(): Promise<void>
}

export interface ModelServerOptions {
  models?: Array<{ id: string } & Record<string, unknown>>
  /** When given, other keys are refused as OpenAI refuses them. */
  api_key?: string
  /** Ids of calls that it takes back; those that OpenAI does, when not given. */
  call_ids?: RegExp
}

/** A scripted model behind the OpenAI chat API, over real HTTP and server-sent events. */
export async function openModelServer(
  script: Script,
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const requests: RecordedRequest[] = []
  const models = options.models ?? [{ id: 'scripted' }]
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { authorization } = request.headers
    if (options.api_key !== undefined && authorization !== `Bearer ${options.api_key}`) {
      const message = `Incorrect API key provided: ${authorization?.slice(7)}.`
      return sendJson(response, 401, { error: { message, code: 'invalid_api_key' } })
    }
    if (request.url === '/v1/models') return sendJson(response, 200, { object: 'list', data: models })
    if (request.url !== '/v1/chat/completions')
      return sendJson(response, 404, { error: { message: 'Not found' } })
    const body = (await json(request)) as ChatRequest
    requests.push({ headers: request.headers, body })
    const refusal = findRefusal(body, options.call_ids)
    if (refusal !== null) return sendJson(response, 400, { error: { message: refusal } })
    const index = requests.length - 1
    const reply = typeof script === 'function' ? script(body, index) : (script[index] ?? scriptEnded(index))
    if (reply.error) {
      const { status, headers, body = { error: { message: `scripted ${status}` } } } = reply.error
      return sendJson(response, status, body, headers)
    }
    if (body.stream) await streamReply(response, body, reply)
    else sendJson(response, 200, wholeReply(body, reply))
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}/v1`, requests, close, [Symbol.asyncDispose]: close }
}

// Not retried by clients, so that a script that is too short shows up as what it is.
const scriptEnded = (index: number): Reply => ({
  error: { status: 400, body: { error: { message: `the script has no reply for request ${index + 1}` } } },
})

async function streamReply(response: ServerResponse, request: ChatRequest, reply: Reply): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const send = (data: unknown) =>
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
  const chunk = (delta: object, finish_reason: string | null = null) =>
    send({ ...envelope(request, 'chat.completion.chunk'), choices: [{ index: 0, delta, finish_reason }] })
  let sent = 0
  for (const delta of deltasOf(reply)) {
    if (reply.delay_ms !== undefined) await delay(reply.delay_ms)
    await reply.pace?.(sent++)
    if (response.destroyed) return
    chunk(delta)
  }
  if (reply.fault === 'stall') return
  if (reply.fault === 'keep-alive') {
    const timer = setInterval(() => response.write(': ping\n\n'), 20)
    return void response.once('close', () => clearInterval(timer))
  }
  if (reply.fault === 'endless') {
    const delta = { content: [reply.text ?? []].flat().join('') }
    const choices = [{ index: 0, delta, finish_reason: null }]
    return repeat(response, event({ ...envelope(request, 'chat.completion.chunk'), choices }))
  }
  if (reply.fault === 'endless-line') return repeat(response, 'data: '.padEnd(65_536, 'x'))
  if (reply.fault === 'drop') {
    // Flushed first: a reset may overtake what is still in the buffer.
    await new Promise((resolve) => response.write(': last words\n\n', resolve))
    response.socket?.resetAndDestroy()
    return
  }
  if (reply.fault === 'error')
    send({ error: { message: 'scripted failure', type: 'server_error', code: 'server_error' } })
  else if (reply.fault !== 'eof') {
    chunk({}, finishReason(reply))
    if (request.stream_options?.include_usage) {
      send({ ...envelope(request, 'chat.completion.chunk'), choices: [], usage: usageOf(reply) })
    }
    send('[DONE]')
  }
  response.end()
}

/** Until nobody reads it any more. */
async function repeat(response: ServerResponse, piece: string): Promise<void> {
  const pieces = function* () {
    for (;;) yield piece
  }
  await pipeline(pieces, response).catch(() => {})
}

function* deltasOf(reply: Reply): Generator<object> {
  yield { role: 'assistant', content: '' }
  for (const reasoning_content of reply.reasoning ?? []) yield { reasoning_content }
  for (const content of [reply.text ?? []].flat()) yield { content }
  for (const [index, call] of (reply.calls ?? []).entries()) {
    const { id, name, text } = encodeCall(call)
    yield { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
    const size = Math.max(1, Math.ceil(text.length / 3))
    for (let at = 0; at < text.length; at += size) {
      yield { tool_calls: [{ index, function: { arguments: text.slice(at, at + size) } }] }
    }
  }
}

function wholeReply(request: ChatRequest, reply: Reply) {
  const tool_calls = reply.calls?.map((call) => {
    const { id, name, text } = encodeCall(call)
    return { id, type: 'function', function: { name, arguments: text } }
  })
  const content = [reply.text ?? []].flat().join('') || null
  const message = { role: 'assistant', content, ...(tool_calls && { tool_calls }) }
  return {
    ...envelope(request, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finishReason(reply) }],
    usage: usageOf(reply),
  }
}

let calls = 0
function encodeCall(call: ScriptedCall) {
  calls += 1
  const text = typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments)
  return { id: call.id ?? `call_${calls}`, name: call.name, text }
}

const finishReason = (reply: Reply) => reply.finish_reason ?? (reply.calls?.length ? 'tool_calls' : 'stop')

function usageOf({ usage = { prompt_tokens: 10, completion_tokens: 5 } }: Reply) {
  const { prompt_tokens, completion_tokens, cached_tokens = 0 } = usage
  const total_tokens = prompt_tokens + completion_tokens
  return { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: { cached_tokens } }
}

const envelope = (request: ChatRequest, object: string) => ({
  id: 'chatcmpl-1',
  object,
  created: 1_700_000_000,
  model: request.model,
})

function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body))
}
