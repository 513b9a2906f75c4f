import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import test from 'node:test'
import { hangUp, json, problem, serve } from '../test/server.ts'
import * as errors from './errors.ts'
import { Runyard } from './index.ts'

const AT_ONCE = { 'retry-after-ms': '0' }
const CREATED = { run_id: 'r1', task_id: 'r1', state: 'QUEUED', at_capacity: false }

test('a request carries the key, its kind and who sends it', async (t) => {
  const { client, received } = await serve(t, [json(CREATED)], {
    defaultHeaders: { 'x-runyard-source': 'CLI' },
  })
  assert.deepEqual(await client.runs.create({ prompt: 'Hello' }), CREATED)
  const [request] = received
  assert.equal(request?.method, 'POST')
  assert.equal(request?.url, '/api/v1/agent/runs')
  assert.equal(request?.headers.authorization, 'Bearer ry_test')
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.equal(request?.headers['x-runyard-source'], 'CLI')
  assert.match(request?.headers['user-agent'] ?? '', /^runyard-ts\/\d/)
  assert.deepEqual(JSON.parse(request?.body ?? ''), { prompt: 'Hello' })
})

test('a create is repeated under one idempotency key', async (t) => {
  const { client, received } = await serve(t, [
    problem(503, 'resource_unavailable', AT_ONCE),
    hangUp,
    json(CREATED),
  ])
  await client.runs.create({ prompt: 'Hello' })
  const keys = new Set(received.map((request) => request.headers['idempotency-key']))
  assert.equal(received.length, 3)
  assert.equal(keys.size, 1)
  assert.match([...keys][0] as string, /^[0-9a-f]{32}$/)
  assert.deepEqual(
    received.map((request) => request.headers['x-runyard-retry-count']),
    ['0', '1', '2'],
  )
})

test('two creates have two keys, and a given key is used', async (t) => {
  const { client, received } = await serve(t, [json(CREATED)])
  await client.runs.create({ prompt: 'Hello' })
  await client.runs.create({ prompt: 'Hello' })
  await client.runs.create({ prompt: 'Hello' }, { idempotencyKey: 'mine' })
  const keys = received.map((request) => request.headers['idempotency-key'])
  assert.equal(new Set(keys).size, 3)
  assert.equal(keys[2], 'mine')
})

test('a read has no idempotency key', async (t) => {
  const { client, received } = await serve(t, [json({})])
  await client.runs.retrieve('a/b')
  assert.equal(received[0]?.url, '/api/v1/agent/runs/a%2Fb')
  assert.equal(received[0]?.headers['idempotency-key'], undefined)
})

for (const [status, Type] of [
  [400, errors.BadRequestError],
  [401, errors.AuthenticationError],
  [403, errors.PermissionDeniedError],
  [404, errors.NotFoundError],
  [409, errors.ConflictError],
  [413, errors.APIError],
  [422, errors.UnprocessableEntityError],
  [429, errors.RateLimitError],
  [500, errors.InternalServerError],
  [503, errors.InternalServerError],
] as const) {
  test(`${status} is ${Type.prototype.name}`, async (t) => {
    const { client } = await serve(t, [problem(status, 'conflict')], { maxRetries: 0 })
    await assert.rejects(client.runs.retrieve('r1'), (error) => {
      assert.ok(error instanceof errors.APIError)
      assert.equal(error.constructor, Type)
      assert.equal(error.message, 'What happened.')
      assert.equal(error.name, Type.prototype.name)
      const { code, title, request_id, trace_id } = error
      assert.deepEqual(
        { status: error.status, code, title, request_id, trace_id },
        { status, code: 'conflict', title: 'A title', request_id: 'request-1', trace_id: 'trace-1' },
      )
      return true
    })
  })
}

test('what is retried: by status, by the problem document, and above all by x-should-retry', async (t) => {
  const cases: Array<[number, Record<string, string>, number]> = [
    [408, AT_ONCE, 3],
    [409, AT_ONCE, 3],
    [429, AT_ONCE, 3],
    [500, AT_ONCE, 3],
    [404, AT_ONCE, 1],
    [503, { ...AT_ONCE, 'x-should-retry': 'false' }, 1],
    [404, { ...AT_ONCE, 'x-should-retry': 'true' }, 3],
  ]
  for (const [status, headers, attempts] of cases) {
    const { client, received } = await serve(t, [json('no problem document', status, headers)])
    await assert.rejects(client.runs.retrieve('r1'), errors.APIError)
    assert.equal(received.length, attempts, `${status} ${JSON.stringify(headers)}`)
  }
  const refused = { error_code: 'conflict', title: 'Conflict', retryable: false }
  const { client, received } = await serve(t, [json(refused, 409, AT_ONCE)])
  await assert.rejects(client.runs.retrieve('r1'), errors.ConflictError)
  assert.equal(received.length, 1)
})

test('the timeout covers the body, and a body that breaks off is fetched again', async (t) => {
  const { client, received } = await serve(t, [
    (response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"run_id":')
    },
    (response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{', () => response.destroy())
    },
    json({ run_id: 'r1' }),
  ])
  assert.equal((await client.runs.retrieve('r1', { timeout: 100 })).run_id, 'r1')
  assert.equal(received.length, 3)
})

test('a silent server: APITimeoutError', async (t) => {
  const { client, origin } = await serve(t, [() => {}], { timeout: 50, maxRetries: 0 })
  await assert.rejects(client.runs.retrieve('r1'), (error) => {
    assert.ok(error instanceof errors.APITimeoutError && error instanceof errors.APIConnectionError)
    assert.equal(error.message, `${origin} did not answer within 0.05 s.`)
    return true
  })
})

test('nobody there: APIConnectionError that names the place and the reason', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  const client = new Runyard({ apiKey: 'ry_test', baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 })
  await assert.rejects(client.runs.retrieve('r1'), (error) => {
    assert.ok(error instanceof errors.APIConnectionError)
    assert.match(error.message, new RegExp(`^Cannot reach http://127.0.0.1:${port}: .*ECONNREFUSED`))
    return true
  })
})

test('an abort ends a request, and a wait between retries, at once', async (t) => {
  const { client } = await serve(t, [() => {}])
  const controller = new AbortController()
  const silent = client.runs.retrieve('r1', { signal: controller.signal })
  controller.abort()
  await assert.rejects(silent, errors.APIUserAbortError)

  const waiting = new AbortController()
  const { client: other } = await serve(t, [
    (response, request) => {
      problem(503, 'resource_unavailable', { 'retry-after': '60' })(response, request)
      setImmediate(() => waiting.abort())
    },
  ])
  await assert.rejects(other.runs.retrieve('r1', { signal: waiting.signal }), errors.APIUserAbortError)
})

test('a redirect is not followed', async (t) => {
  const { client, received } = await serve(t, [json({}, 307, { location: 'https://elsewhere.test/' })])
  await assert.rejects(client.runs.create({ prompt: 'x' }), /redirects to https:\/\/elsewhere\.test\//)
  assert.equal(received.length, 1)
})

test('a page instead of JSON is explained', async (t) => {
  const { client } = await serve(t, [(response) => void response.end('<html>')])
  await assert.rejects(client.runs.retrieve('r1'), /not JSON.*baseURL/)
})

test('the base URL may hold the path of the API, and a prefix', () => {
  const baseUrl = (base_url: string) => new Runyard({ apiKey: 'k', baseURL: base_url }).baseURL
  assert.equal(baseUrl('http://localhost:4200'), 'http://localhost:4200/api/v1')
  assert.equal(baseUrl('http://localhost:4200/api/v1/'), 'http://localhost:4200/api/v1')
  assert.equal(baseUrl('https://example.test/runyard/'), 'https://example.test/runyard/api/v1')
  for (const wrong of ['localhost:4200', 'file:///etc', 'https://a:b@example.test', 'nonsense']) {
    assert.throws(() => baseUrl(wrong), errors.RunyardError, wrong)
  }
})

test('a key that fetch would refuse never shows up in an error', () => {
  assert.throws(
    () => new Runyard({ apiKey: 'ry_sécret' }),
    (error) => !String(error).includes('cret'),
  )
  assert.throws(() => new Runyard({ apiKey: ' ' }), /RUNYARD_API_KEY/)
})
