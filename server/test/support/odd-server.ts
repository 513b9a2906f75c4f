import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { BackgroundCommands } from '../../src/harness/background-commands.ts'
import type { Tool, ToolServer } from '../../src/harness/harness.ts'
import { ToolServers } from '../../src/harness/mcp.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { TestTurn } from './turn.ts'

export interface Message {
  id?: string | number
  method?: string
  params?: { name?: string; arguments?: Record<string, unknown>; cursor?: unknown }
}

export const HANDSHAKE = {
  ...{ protocolVersion: '2025-11-25', serverInfo: { name: 'x', version: '1' } },
  capabilities: { tools: {} },
}
export const GO = { name: 'go', inputSchema: { type: 'object' } }

/** What a well-behaved server says; `undefined` for what is no request. */
export function answerWell({ id, method }: Message, result: unknown = textResult('well')): unknown {
  if (id === undefined) return undefined
  const results: Record<string, unknown> = {
    initialize: HANDSHAKE,
    'tools/list': { tools: [GO] },
    'tools/call': result,
  }
  return method !== undefined && method in results
    ? { jsonrpc: '2.0', id, result: results[method] }
    : { jsonrpc: '2.0', id, error: { code: -32601, message: `no ${method}` } }
}
export const textResult = (said: string): unknown => ({ content: [{ type: 'text', text: said }] })

export interface Asked {
  request: IncomingMessage
  response: ServerResponse
  message: Message
}

/** A tool server over HTTP that answers as a test has it. */
export async function serveOdd(answer: (asked: Asked) => void | Promise<void>) {
  const requests: Array<{ method: string; headers: IncomingMessage['headers']; message: Message }> = []
  const server = createServer(async (request, response) => {
    const message = JSON.parse((await text(request)) || '{}') as Message
    requests.push({ method: request.method ?? '', headers: request.headers, message })
    await answer({ request, response, message })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    requests,
    server: addressed(`http://127.0.0.1:${port}/mcp`),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const addressed = (url: string): ToolServer => ({
  ...{ name: 'far', required: false, timeout_ms: 8000 },
  launch: { type: 'url', url, headers: { 'x-key': 'a' }, fetch },
})

export function sendJson(
  response: ServerResponse,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  if (body === undefined) response.writeHead(202).end()
  else response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** A server as a process, whose program is the body of a function of `message`, `say` and `result`. */
export const programmed = (name: string, answer: string): ToolServer => ({
  ...{ name, required: false, timeout_ms: 8000 },
  launch: {
    type: 'command',
    command: process.execPath,
    args: ['-e', `${FRAME}\nfunction answer(message) { ${answer} }`],
    env: {},
  },
})
const FRAME = `
const raw = (text) => process.stdout.write(text)
const say = (message) => raw(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const result = (message, result) => say({ id: message.id, result })
const well = { initialize: ${JSON.stringify(HANDSHAKE)}, 'tools/list': { tools: [${JSON.stringify(GO)}] },
  'tools/call': { content: [{ type: 'text', text: 'well' }] } }
const rest = (message, own = {}) => message.id !== undefined && message.method in well && result(message, own[message.method] ?? well[message.method])
let line = ''
process.stdin.on('data', (data) => {
  line += data
  const lines = line.split('\\n')
  line = lines.pop()
  for (const each of lines) answer(JSON.parse(each))
})
process.stdin.on('end', () => process.exit(0))`

/** The tools of servers as the built-in agent has them, without a model. */
export async function openServers(sandbox: Sandbox, servers: ToolServer[]) {
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  turn.tool_servers = servers
  const opened = new ToolServers(turn, new Map<string, Tool>())
  let tools: ReadonlyMap<string, Tool> = new Map()
  const list = async () => {
    const started = await opened.start(turn.signal)
    if ('failure' in started) throw new Error(started.failure.status_message?.message)
    tools = started.tools
    return [...tools.keys()]
  }
  await list()
  let calls = 0
  const background = new BackgroundCommands()
  return {
    turn,
    list,
    tools: () => tools,
    setup: () => turn.data('setup').map(({ output }) => output ?? ''),
    async call(name: string, input: Record<string, unknown> = {}) {
      const tool = tools.get(name)
      if (!tool) return { output: `no tool ${name}`, is_error: true }
      calls += 1
      return await tool.run(input, { turn, background, tool_call_id: `call-${calls}` })
    },
    [Symbol.asyncDispose]: () => opened.close(),
  }
}
