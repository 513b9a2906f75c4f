import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type Asked,
  answerWell,
  HANDSHAKE,
  openServers,
  sendJson,
  serveOdd,
  textResult,
} from '../../test/support/odd-server.ts'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

// How servers in the field differ from the protocol, over HTTP.

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

const event = (data: unknown, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
const SSE = { 'content-type': 'text/event-stream' }
const noStream = ({ response }: Asked) => response.writeHead(405).end()

test('a session that the server has forgotten is opened again, and the call repeated', async () => {
  const manners: Array<(asked: Asked) => void> = [
    ({ response }) => response.writeHead(404).end(),
    ({ response, message }) =>
      response.writeHead(404, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          jsonrpc: '2.0',
          id: message.id,
          error: { code: -32001, message: 'Session not found' },
        }),
      ),
    ({ response }) =>
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(
          '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}',
        ),
    ({ response }) => response.writeHead(400).end('Bad Request: Server not initialized'),
    ({ response, message }) =>
      response
        .writeHead(400)
        .end(
          JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: 1, message: 'Session expired.' } }),
        ),
  ]
  for (const forget of manners) {
    let sessions = 0
    let runs = 0
    const known = new Set<string>()
    await using odd = await serveOdd((asked) => {
      const { request, response, message } = asked
      if (request.method === 'DELETE') return void response.writeHead(200).end()
      if (request.method === 'GET') return void noStream(asked)
      if (message.method === 'initialize') {
        sessions += 1
        known.add(`s${sessions}`)
        return sendJson(response, answerWell(message), { 'mcp-session-id': `s${sessions}` })
      }
      if (!known.has(String(request.headers['mcp-session-id']))) return forget(asked)
      if (message.method === 'tools/call') runs += 1
      sendJson(response, answerWell(message))
    })
    await using servers = await openServers(sandbox, [odd.server])
    assert.equal((await servers.call('far__go')).output, 'well')
    known.clear()
    assert.deepEqual(await servers.call('far__go'), { output: 'well', is_error: false })
    assert.deepEqual([sessions, runs], [2, 2])
  }
})

test('a call that may have run is not repeated, whatever its answer says of sessions', async () => {
  const answers: Array<[number, number, string, { session_less?: boolean }?]> = [
    [400, -32000, 'Paid, but your shop session has expired meanwhile'],
    [400, -32000, 'Session not found in the calendar of Monday'],
    [200, -32001, 'Paid; receipt failed: session invalid'],
    [200, -32001, 'Session expired'],
    [404, -32000, 'Invoice mail target not found', { session_less: true }],
    [404, -32001, 'Session not found', { session_less: true }],
    [400, -32000, 'Bad Request: No valid session ID provided', { session_less: true }],
  ]
  for (const [status, code, words, { session_less = false } = {}] of answers)
    for (const with_id of [true, false]) {
      let paid = 0
      await using odd = await serveOdd((asked) => {
        const { request, response, message } = asked
        if (request.method !== 'POST') return void noStream(asked)
        if (message.method !== 'tools/call')
          return sendJson(response, answerWell(message), session_less ? {} : { 'mcp-session-id': 'mine' })
        paid += 1
        const id = with_id ? message.id : null
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: words } }))
      })
      await using servers = await openServers(sandbox, [odd.server])
      const { output, is_error } = await servers.call('far__go')
      assert(output.includes(words) && is_error, output)
      assert.equal(paid, 1, `${status} ${words}`)
    }
})

test('a session that is said to be gone in an answer is opened anew for the next call', async () => {
  let sessions = 0
  await using odd = await serveOdd((asked) => {
    const { request, response, message } = asked
    if (request.method !== 'POST') return void noStream(asked)
    if (message.method === 'initialize') {
      sessions += 1
      return sendJson(response, answerWell(message), { 'mcp-session-id': `s${sessions}` })
    }
    if (message.method !== 'tools/call' || request.headers['mcp-session-id'] === 's2')
      return sendJson(response, answerWell(message))
    sendJson(response, {
      jsonrpc: '2.0',
      id: message.id,
      error: { code: -32001, message: 'Session expired' },
    })
  })
  await using servers = await openServers(sandbox, [odd.server])
  assert.match((await servers.call('far__go')).output, /broke off: Session expired\n.*Check first/)
  assert.equal((await servers.call('far__go')).output, 'well')
})

test('a server that forgets every session is not asked without end', async () => {
  let calls = 0
  await using odd = await serveOdd((asked) => {
    const { request, response, message } = asked
    if (request.method !== 'POST') return void noStream(asked)
    if (message.method !== 'tools/call')
      return sendJson(response, answerWell(message), { 'mcp-session-id': 'only' })
    calls += 1
    response.writeHead(404).end('Session not found')
  })
  await using servers = await openServers(sandbox, [odd.server])
  assert.match((await servers.call('far__go')).output, /broke off: HTTP 404/)
  assert.equal(calls, 2)
})

test('a result that was sent after the stream had ended is fetched', async () => {
  const manners = {
    closed: (asked: Asked) => asked.response.end(),
    cut: (asked: Asked) => asked.response.destroy(),
  }
  for (const [name, end] of Object.entries(manners)) {
    let call: Asked['message'] | undefined
    const came: unknown[] = []
    await using odd = await serveOdd((asked) => {
      const { request, response, message } = asked
      if (request.method === 'GET') {
        const mark = request.headers['last-event-id']
        if (mark === undefined) return void noStream(asked)
        came.push(mark)
        response.writeHead(200, SSE)
        // The server may do it more than once.
        if (came.length === 1) return void response.end(`retry: 20\n${event('', 'e2')}`)
        return void response.end(event({ jsonrpc: '2.0', id: call?.id, result: textResult('late') }, 'e3'))
      }
      if (message.method !== 'tools/call') return sendJson(response, answerWell(message))
      call = message
      response.writeHead(200, SSE)
      response.write(`retry: 20\n${event('', 'e1')}`, () => end(asked))
    })
    await using servers = await openServers(sandbox, [odd.server])
    assert.equal((await servers.call('far__go')).output, 'late', name)
    assert.deepEqual(came, ['e1', 'e2'], name)
  }
})

test('a stream that ends without an answer that could be fetched is told at once', async () => {
  const ends: Array<(asked: Asked) => void> = [
    ({ response }) => response.writeHead(200, SSE).end(': nothing\n\n'),
    ({ response }) => response.writeHead(200, SSE).end(event('no JSON')),
    ({ response }) => response.writeHead(200, SSE).write(': some\n\n', () => response.destroy()),
  ]
  for (const end of ends) {
    await using odd = await serveOdd((asked) => {
      if (asked.request.method !== 'POST') return void noStream(asked)
      if (asked.message.method === 'tools/call') return end(asked)
      sendJson(asked.response, answerWell(asked.message))
    })
    await using servers = await openServers(sandbox, [odd.server])
    assert.match((await servers.call('far__go')).output, /broke off: its answer ended too soon/)
  }
})

test('answers are read in whatever wrapping they come', async () => {
  type Wrap = (answer: unknown, asked: Asked) => void
  const wrappings: Record<string, Wrap> = {
    'events with comments, other names and a byte order mark': (answer, { response }) =>
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).end(
        `\ufeff: hello\n\nevent: ping\ndata: {}\n\nevent: response\nid: 1\n${JSON.stringify(answer, null, 1)
          .split('\n')
          .map((line) => `data: ${line}\r\n`)
          .join('')}`,
      ),
    'other messages before it, as a batch': (answer, { response }) =>
      sendJson(response, [
        { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } },
        { jsonrpc: '2.0', method: 'notifications/unheard/of', params: null },
        answer,
      ]),
    'no type': (answer, { response }) => response.writeHead(200).end(JSON.stringify(answer)),
    'a type of text, with a byte order mark': (answer, { response }) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`\ufeff${JSON.stringify(answer)}`),
    'events that call themselves JSON': (answer, { response }) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(event(answer).trimEnd()),
    'the status of something made': (answer, { response }) =>
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
    'an id as text, and no version': (answer, { response }) => {
      const { id, result } = answer as { id: number; result: unknown }
      sendJson(response, { id: String(id), result, error: null })
    },
    'a request of its own before it': (answer, { response }) =>
      response
        .writeHead(200, SSE)
        .end(event({ jsonrpc: '2.0', id: 'own-1', method: 'ping' }) + event(answer)),
  }
  for (const [name, wrap] of Object.entries(wrappings)) {
    await using odd = await serveOdd((asked) => {
      if (asked.request.method === 'DELETE') return void asked.response.writeHead(500).end()
      if (asked.request.method === 'GET') return void asked.response.writeHead(404).end('no stream here')
      const answer = answerWell(asked.message)
      // What is said to a notification decides nothing.
      if (answer === undefined) return void asked.response.writeHead(500).end('what is that?')
      wrap(answer, asked)
    })
    await using servers = await openServers(sandbox, [odd.server])
    assert.deepEqual(
      await servers.call('far__go'),
      { output: 'well', is_error: false },
      `${name}: ${servers.setup()}`,
    )
  }
})

test('what is no answer is told with its beginning, and the status', async () => {
  const answers: Array<[(asked: Asked) => void, RegExp]> = [
    [
      ({ response }) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Sign in</h1>'),
      /begins with <h1>Sign in/,
    ],
    [({ response }) => response.writeHead(200).end(), /answered with 200 and nothing else/],
    [({ response }) => response.writeHead(204).end(), /answered with 204 and nothing else/],
    [({ response }) => response.writeHead(500).end('it broke'), /HTTP 500: it broke/],
    [({ response }) => response.writeHead(401).end('{"error":"invalid_token"}'), /HTTP 401: .*invalid_token/],
    [({ response }) => response.writeHead(429).end('slow down'), /HTTP 429: slow down/],
    [
      ({ response, message }) =>
        response
          .writeHead(500)
          .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: 1, message: 'in a 500' } })),
      /^in a 500$/,
    ],
    [({ response }) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(), /redirect/i],
  ]
  for (const [answer, expected] of answers) {
    await using odd = await serveOdd((asked) => {
      if (asked.request.method !== 'POST') return void noStream(asked)
      if (asked.message.method === 'tools/call') return answer(asked)
      sendJson(asked.response, answerWell(asked.message))
    })
    await using servers = await openServers(sandbox, [odd.server])
    const { output, is_error } = await servers.call('far__go')
    assert.match(output, expected)
    assert.equal(is_error, true)
  }
})

test('a server of the old transport, events on one stream, is found and spoken to', async () => {
  for (const status of [400, 404, 405]) {
    let stream: Asked['response'] | undefined
    await using odd = await serveOdd(({ request, response, message }) => {
      if (request.method === 'GET') {
        stream = response
        return void response.writeHead(200, SSE).write('event: endpoint\ndata: /messages?session=1\n\n')
      }
      if (request.url !== '/messages?session=1') return void response.writeHead(status).end('Not here')
      assert.equal(request.headers['x-key'], 'a')
      response.writeHead(202).end('Accepted')
      const die = message.params?.arguments?.die === true
      if (die) return void stream?.end()
      const answer = answerWell(message)
      if (answer !== undefined) stream?.write(`: ping\n\nevent: message\n${event(answer)}`)
    })
    await using servers = await openServers(sandbox, [odd.server])
    assert.equal((await servers.call('far__go')).output, 'well', servers.setup()[0])
    assert.match((await servers.call('far__go', { die: true })).output, /broke off: Connection closed/)
    assert.equal((await servers.call('far__go')).output, 'well')
  }
})

test('a server without a handshake, as the version of 2026 has it, is spoken to', async () => {
  const modern = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  await using odd = await serveOdd(({ response, message }) => {
    const { id, method } = message
    const results: Record<string, object> = {
      'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
      'tools/list': { tools: [{ name: 'go', inputSchema: null }] },
      'tools/call': Object(textResult('of 2026')),
    }
    if (method === undefined || !(method in results)) {
      const error = { code: -32601, message: `Method not found: ${method}` }
      response.writeHead(404, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
    }
    sendJson(response, { jsonrpc: '2.0', id, result: { ...modern, ...results[method] } })
  })
  await using servers = await openServers(sandbox, [odd.server])
  assert.equal((await servers.call('far__go')).output, 'of 2026', servers.setup()[0])
})

test('an address that is none says so', async () => {
  await using odd = await serveOdd(({ response }) => void response.writeHead(404).end('nothing here'))
  await using servers = await openServers(sandbox, [odd.server])
  assert.match(servers.setup()[0] ?? '', /^HTTP 404: nothing here/)
  await using closed = await serveOdd(() => {})
  await closed[Symbol.asyncDispose]()
  await using away = await openServers(sandbox, [closed.server])
  assert.match(away.setup()[0] ?? '', /ECONNREFUSED/)
})

test('the session is given back at its end', async () => {
  await using odd = await serveOdd((asked) => {
    if (asked.request.method !== 'POST') return void asked.response.writeHead(405).end()
    sendJson(asked.response, answerWell(asked.message), { 'mcp-session-id': 'mine' })
  })
  {
    await using servers = await openServers(sandbox, [odd.server])
    await servers.call('far__go')
  }
  const last = odd.requests.at(-1)
  assert.deepEqual([last?.method, last?.headers['mcp-session-id']], ['DELETE', 'mine'])
  assert.equal(last?.headers['mcp-protocol-version'], HANDSHAKE.protocolVersion)
})
