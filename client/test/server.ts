import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { Runyard, type RunyardOptions } from '../src/index.ts'

export interface Received {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

export type Answer = (response: ServerResponse, request: Received) => void | Promise<void>

/** A real HTTP server that gives the answers in turn, the last one again and again, and a client for it. */
export async function serve(
  t: TestContext,
  answers: Answer[],
  options: RunyardOptions = {},
): Promise<{ client: Runyard; origin: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer(async (incoming, response) => {
    const { method = '', url = '', headers } = incoming
    const request = { method, url, headers, body: await text(incoming) }
    const answer = answers[Math.min(received.length, answers.length - 1)]
    received.push(request)
    await answer?.(response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return { client: new Runyard({ apiKey: 'ry_test', baseURL: origin, ...options }), origin, received }
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }

export const problem = (status: number, error_code: string, headers: Record<string, string> = {}): Answer =>
  json(
    {
      type: `https://example.test/docs/errors/${error_code}`,
      title: 'A title',
      status,
      error: 'A title (What happened.)',
      detail: 'What happened.',
      retryable: status >= 500 || status === 409 || status === 429,
      trace_id: 'trace-1',
      error_code,
    },
    status,
    { 'x-request-id': 'request-1', ...headers },
  )

/** Takes the request and breaks the connection. */
export const hangUp: Answer = (response) => {
  response.destroy()
}
