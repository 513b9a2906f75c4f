import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { formatEvents, type StreamItem } from './fault-events.ts'

/** What a script answers one request with: one kind of content, and what goes wrong on the way. See fault-server.ts. */
export interface Answer {
  status?: number
  headers?: Record<string, string>
  json?: unknown
  text?: string
  run?: Record<string, unknown>
  problem?: { status: number; code: string; detail?: string; retryable?: boolean }
  redirect?: string
  echo?: boolean
  pages?: { count: number }
  events?: StreamItem[]
  retry_ms?: number
  newline?: string
  framing?: 'length' | 'chunked' | 'close'
  connection?: 'close' | 'keep' | 'drop'
  delay_ms?: number
  fault?: Fault
}

export interface Fault {
  /** In place of an answer, in the head, or in the body. */
  at: 'request' | 'head' | 'body'
  /** How many bytes of the head or body are sent before; default: half of the head, all of the body. */
  after?: number
  /** Says no more | RST | FIN | goes on with a byte every `ms`. */
  how: 'stall' | 'reset' | 'close' | 'drip'
  ms?: number
}

export interface Received {
  method: string
  path: string
  query: Array<[string, string]>
  headers: Record<string, string>
  /** Parsed when it is JSON; null when there is none. */
  body: unknown
  arrived_ms: number
  /** Its connection has brought requests before. */
  reused: boolean
  via: 'direct' | 'proxy' | 'tunnel'
  port: 'main' | 'other'
  state: 'received' | 'answering' | 'answered'
  /** The client hung up before it had everything. */
  aborted: boolean
}

interface Content {
  status: number
  headers: Record<string, string>
  body: string
}

/** Gives one answer on the connection and ends it. `nth` is the number of the request in its script, from 0. */
export async function sendAnswer(
  socket: Socket,
  answer: Answer,
  request: Received,
  nth: number,
): Promise<void> {
  const { fault, connection = 'close' } = answer
  if (answer.delay_ms) await pause(answer.delay_ms)
  if (fault?.at === 'request') return void (await fail(socket, fault, Buffer.alloc(0)))
  const { status, headers, body } = buildContent(answer, request, nth)
  const bytes = Buffer.from(body)
  const framing = answer.framing ?? (answer.events ? 'chunked' : 'length')
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    // Unless a case asks for another, since clients repeat some requests by themselves when a kept one breaks.
    `connection: ${connection === 'close' ? 'close' : 'keep-alive'}`,
    ...(framing === 'length' ? [`content-length: ${bytes.length}`] : []),
    ...(framing === 'chunked' ? ['transfer-encoding: chunked'] : []),
  ]
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  if (fault?.at === 'head') {
    const sent = fault.after ?? head.length >> 1
    await write(socket, head.subarray(0, sent))
    return void (await fail(socket, fault, Buffer.concat([head.subarray(sent), bytes])))
  }
  await write(socket, head)
  const frame = (part: Buffer) =>
    framing === 'chunked' && part.length > 0
      ? Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
      : part
  const sent = fault ? (fault.after ?? bytes.length) : bytes.length
  await write(socket, frame(bytes.subarray(0, sent)))
  const last = Buffer.from(framing === 'chunked' ? '0\r\n\r\n' : '')
  if (fault) {
    request.state = 'answering'
    if (!(await fail(socket, fault, bytes.subarray(sent), frame, last))) return
  }
  if (!fault) await write(socket, last)
  request.state = 'answered'
  if (connection !== 'keep') socket.end()
}

/** Bytes of the body that a first request gets. */
export function bodyLength(answer: Answer): number {
  const request = { path: '/', query: [], headers: {} }
  return Buffer.byteLength(buildContent(answer, request, 0).body)
}

/** Whether the answer came to its end all the same: by drips, to a client that stayed. */
async function fail(
  socket: Socket,
  { how, ms = 20 }: Fault,
  rest: Buffer,
  frame: (part: Buffer) => Buffer = (part) => part,
  last = Buffer.alloc(0),
): Promise<boolean> {
  if (how === 'reset') socket.resetAndDestroy()
  if (how === 'close') socket.end()
  if (how !== 'drip') return false
  for (const byte of rest) {
    if (!(await write(socket, frame(Buffer.from([byte]))))) return false
    await pause(ms)
  }
  await write(socket, last)
  socket.end()
  return true
}

function buildContent(
  answer: Answer,
  request: Pick<Received, 'path' | 'query' | 'headers'>,
  nth: number,
): Content {
  const { status = 200, headers = {} } = answer
  const json = (value: unknown, code = status, type = 'application/json'): Content => ({
    status: code,
    headers: { 'content-type': type, ...headers },
    body: JSON.stringify(value),
  })
  if (answer.problem)
    return json(buildProblem(answer.problem), answer.problem.status, 'application/problem+json')
  if (answer.run) return json(buildRun(answer.run))
  if (answer.echo) return json(buildRun({ run_id: request.path.split('/').at(-1) ?? '', state: 'SUCCEEDED' }))
  if (answer.pages) return json(buildPage(answer.pages.count, new Map(request.query)))
  if (answer.redirect !== undefined) {
    return { status: answer.status ?? 302, headers: { location: answer.redirect, ...headers }, body: '' }
  }
  if (answer.events) {
    const after = Number(new Map(request.query).get('after') ?? request.headers['last-event-id'] ?? 0)
    const body = formatEvents(answer.events, {
      after,
      returned: nth > 0,
      retry_ms: answer.retry_ms ?? 1,
      newline: answer.newline ?? '\n',
    })
    return { status, headers: { 'content-type': 'text/event-stream; charset=utf-8', ...headers }, body }
  }
  if (answer.text !== undefined) return { status, headers, body: answer.text }
  return 'json' in answer ? json(answer.json) : { status, headers, body: '' }
}

const buildProblem = ({ status, code, detail, retryable }: NonNullable<Answer['problem']>) => ({
  type: `https://example.test/errors/${code}`,
  title: 'A title',
  status,
  error: `A title (${detail ?? 'What happened.'})`,
  detail: detail ?? 'What happened.',
  retryable: retryable ?? ([408, 409, 429].includes(status) || status >= 500),
  trace_id: 'trace-1',
  error_code: code,
})

/** A run with everything that a run must have. */
export function buildRun(given: Record<string, unknown>): Record<string, unknown> {
  const { run_id = 'r1' } = given
  return {
    run_id,
    task_id: run_id,
    title: 'A run',
    state: 'QUEUED',
    prompt: 'Hello',
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
    source: 'API',
    creator: { type: 'service_account', uid: 'abcdefghijklmnopqrstuv' },
    executor: { type: 'service_account', uid: 'abcdefghijklmnopqrstuv' },
    session_id: run_id,
    session_link: 'http://127.0.0.1:4200/runs/r1',
    agent_config: {},
    conversation_id: run_id,
    root_run_id: run_id,
    metadata: {},
    artifacts: [],
    scope: { type: 'Team' },
    execution_location: 'REMOTE',
    is_sandbox_running: false,
    is_run_type_cancellable: true,
    debug_agent_available: false,
    attempt: 1,
    execution: 1,
    ...given,
  }
}

function buildPage(count: number, query: Map<string, string>): Record<string, unknown> {
  const size = Number(query.get('limit') ?? 20)
  const from = Number(query.get('cursor')?.replace(/^c/, '') ?? 0)
  const to = Math.min(from + size, count)
  const runs = Array.from({ length: to - from }, (_, index) => buildRun({ run_id: `run-${from + index}` }))
  const has_next_page = to < count
  return { runs, page_info: { has_next_page, ...(has_next_page ? { next_cursor: `c${to}` } : {}) } }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** False when the client has gone. */
const write = (socket: Socket, bytes: Buffer): Promise<boolean> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve(false)
    else socket.write(bytes, (error) => resolve(!error))
  })
