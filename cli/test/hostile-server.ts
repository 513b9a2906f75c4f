import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  answerSchema,
  attack,
  findOperation,
  type Sampling,
  sample,
  sampleEvents,
  schemaOf,
} from './hostile-answers.ts'

/** What a hostile agent's git may print instead of a patch. */
const PATCH = `diff --git a/${attack('name')} b/x\n@@ -1 +1 @@${attack('bytes')}\n+${attack('added')}\n-${attack('left')}\n`
const ENDED = { RunItem: { state: 'SUCCEEDED' }, RunStateEventData: { state: 'SUCCEEDED' } }

/** What the first part of the path asks for. */
const MODES: Record<string, Sampling> = {
  tame: { wild: false, fixed: ENDED },
  // A tame one whose patch can be downloaded.
  patch: { wild: false, fixed: ENDED },
  wild: { wild: true },
  blocked: {
    wild: false,
    fixed: {
      RunItem: { state: 'BLOCKED' },
      RunStateEventData: { state: 'BLOCKED' },
      // A question is answered with text, this one would be with a choice.
      RunStatusMessage: { approval: undefined },
    },
  },
}

/**
 * A server whose every text is an attack. Its address is followed by the name of a mode, or `refuse-STATUS`. `asked`: the
 * operations that it was asked for.
 */
export async function serveHostile(): Promise<{ origin: string; asked: Set<string>; close(): void }> {
  const asked = new Set<string>()
  const server = createServer((request, response) => {
    const { pathname, origin } = new URL(request.url ?? '', `http://${request.headers.host}`)
    const [, mode = '', path = ''] = /^\/([\w-]+)\/api\/v1(\/.*)$/.exec(pathname) ?? []
    const sampling = MODES[mode]
    request.resume()
    const operation = findOperation(request.method ?? '', path)
    if (operation) asked.add(operation.operationId)
    if (pathname.startsWith('/bytes')) response.end(attack('bytes'))
    else if (pathname.startsWith('/patch-bytes')) response.end(PATCH)
    else if (!sampling) refuse(response, Number(mode.split('-')[1] ?? 400))
    else if (path.endsWith('/transcript')) response.end(attack('bytes'))
    else if (request.headers.accept === 'text/event-stream') {
      sendEvents(response, sampling)
    } else sendJson(response, 200, answer(request.method ?? '', path, sampling, origin, mode))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { origin: `http://127.0.0.1:${port}`, asked, close }
}

function answer(method: string, path: string, sampling: Sampling, origin: string, mode: string): unknown {
  const schema = answerSchema(method, path)
  if (!schema) throw new Error(`openapi.json has no ${method} ${path}.`)
  const value = sample(schema, sampling) as {
    data?: object
    has_more?: boolean
    page_info?: object
    patch?: { data: object }
    attachments?: object[]
  }
  // So that there is an end, and something to download.
  if (value.has_more) value.has_more = false
  if (value.page_info) value.page_info = { has_next_page: false }
  if (path.startsWith('/agent/artifacts/')) value.data = { ...value.data, download_url: `${origin}/bytes` }
  if (value.attachments && path.endsWith('/attachments/prepare'))
    value.attachments = value.attachments.map((each) => ({ ...each, upload_url: `${origin}/bytes` }))
  if (value.patch && mode === 'patch') {
    const sha256 = createHash('sha256').update(PATCH).digest('hex')
    const known = { download_url: `${origin}/patch-bytes`, sha256, size_bytes: Buffer.byteLength(PATCH) }
    value.patch.data = { ...value.patch.data, ...known }
  }
  return value
}

function refuse(response: ServerResponse, status: number): void {
  response.setHeader('x-request-id', 'id\u009b31m\u009d52;c;eA==\u009c')
  response.setHeader('x-should-retry', 'false')
  const problem = sample(schemaOf('Error'), { wild: true }) as object
  sendJson(response, status, { ...problem, status, retryable: false })
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, 'Status\u009b31m', { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function sendEvents(response: ServerResponse, sampling: Sampling): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (name: string, data: unknown): void => {
    response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
  }
  const delta = sample(schemaOf('MessageDelta'), sampling) as { text: string }
  // Cut into characters, so that each sequence is cut as well.
  for (const [offset, text] of [...delta.text].entries()) {
    send('message.assistant.delta', { run_id: 'r1', ...delta, offset, text })
  }
  for (const event of sampleEvents(sampling)) send(String(event.type), event)
  send('end', { run_id: 'r1', last_sequence: 16 })
  response.end()
}
