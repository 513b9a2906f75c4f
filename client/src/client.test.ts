import assert from 'node:assert/strict'
import test from 'node:test'
import { inspect } from 'node:util'
import { hangUp, json, problem, serve } from '../test/server.ts'
import {
  APIError,
  APIUserAbortError,
  type CreateRunParams,
  NotFoundError,
  Runyard,
  RunyardError,
} from './index.ts'

test('the base URL may hold the path of the API, and a prefix', () => {
  const baseUrl = (baseURL: string) => new Runyard({ apiKey: 'k', baseURL }).baseURL
  assert.equal(baseUrl('http://localhost:4200'), 'http://localhost:4200/api/v1')
  assert.equal(baseUrl('http://localhost:4200/api/v1/'), 'http://localhost:4200/api/v1')
  assert.equal(baseUrl('https://example.test/runyard/'), 'https://example.test/runyard/api/v1')
  for (const wrong of ['localhost:4200', 'file:///etc', 'https://a:b@example.test', 'nonsense']) {
    assert.throws(() => baseUrl(wrong), RunyardError, wrong)
  }
})

test('a key that fetch would refuse never shows up in an error', () => {
  assert.throws(
    () => new Runyard({ apiKey: 'ry_sécret' }),
    (error) => !String(error).includes('cret'),
  )
  assert.throws(() => new Runyard({ apiKey: ' ' }), /RUNYARD_API_KEY/)
})

test('a copy keeps what its original found, whatever the environment says since', (t) => {
  t.after(() => {
    delete process.env.RUNYARD_API_KEY
    delete process.env.RUNYARD_BASE_URL
  })
  process.env.RUNYARD_API_KEY = 'ry_first'
  const client = new Runyard({ baseURL: 'http://one.test' })
  delete process.env.RUNYARD_API_KEY
  process.env.RUNYARD_BASE_URL = 'http://two.test'
  assert.equal(client.withOptions({ timeout: 5, baseURL: undefined }).baseURL, client.baseURL)
})

test('limits that are none are refused', () => {
  for (const wrong of [{ timeout: 0 }, { timeout: Number.NaN }, { maxRetries: -1 }, { maxRetries: Infinity }])
    assert.throws(() => new Runyard({ apiKey: 'k', ...wrong }), RunyardError, JSON.stringify(wrong))
})

test('a timeout may be longer than a timer, or none', async (t) => {
  const { client } = await serve(t, [json({ models: [] })])
  for (const timeout of [2 ** 40, Infinity]) await client.models.list({ timeout })
})

test('what cannot be sent is a rejection that says so, and is not tried', async (t) => {
  const { client, received } = await serve(t, [json({})])
  const circle: Record<string, unknown> = {}
  circle.itself = circle
  await assert.rejects(
    client.post('/x', { body: circle }),
    /^RunyardError: The body of the request cannot be sent/,
  )
  await assert.rejects(
    client.runs.list({ created_after: new Date('nope') }),
    /The query of the request cannot/,
  )
  await assert.rejects(client.get('x'), /begins with a slash/)
  await assert.rejects(client.runs.retrieve(JSON.parse('7')), /7 is not an id/)
  assert.equal(received.length, 0)
})

test('a request is what was given when it was made', async (t) => {
  const { client, received } = await serve(t, [json({ run_id: 'r1' })])
  const run: CreateRunParams = { prompt: '' }
  const created: Array<Promise<unknown>> = []
  for (const prompt of ['one', 'two']) {
    run.prompt = prompt
    created.push(client.runs.create(run))
  }
  const filters = { q: 'one' }
  created.push(client.runs.list(filters).then(() => {}))
  filters.q = 'two'
  await Promise.all(created)
  assert.deepEqual(received.map(({ url, body }) => (body ? JSON.parse(body).prompt : url)).sort(), [
    '/api/v1/agent/runs?q=one',
    'one',
    'two',
  ])
})

test('an abort between two attempts of a create still names its key', async (t) => {
  const { client } = await serve(t, [hangUp])
  const stop = new AbortController()
  const creating = client.runs.create(
    { prompt: 'Go.' },
    { signal: stop.signal, idempotencyKey: 'mine', maxRetries: 9 },
  )
  setTimeout(() => stop.abort(), 200)
  await assert.rejects(creating, { name: 'APIUserAbortError', idempotency_key: 'mine' })
})

test('an error shows neither cookies nor keys', async (t) => {
  const { client } = await serve(t, [
    problem(404, 'resource_not_found', { 'set-cookie': 'session=verysecret' }),
  ])
  const error = await client.runs.retrieve('r1').catch((error: unknown) => error)
  assert(error instanceof APIError)
  assert.equal(error.headers.get('set-cookie'), 'session=verysecret')
  assert.doesNotMatch(inspect(error) + JSON.stringify(error), /verysecret|ry_test/)
})

test('an abort ends a stream, even when more events have come already', async (t) => {
  const events = Array.from({ length: 50 }, (_, index) => {
    const event = { sequence: index + 1, run_id: 'r1', type: 'usage', occurred_at: '', data: {} }
    return `event: usage\ndata: ${JSON.stringify(event)}\n\n`
  })
  const { client } = await serve(t, [
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
    },
  ])
  const stop = new AbortController()
  let count = 0
  await assert.rejects(async () => {
    for await (const _ of client.runs.stream('r1', { signal: stop.signal })) {
      count += 1
      stop.abort()
    }
  }, APIUserAbortError)
  assert.equal(count, 1)
})

test('a filter of a deletion that is undefined is refused, since without it more would go', async () => {
  const client = new Runyard({ apiKey: 'k', baseURL: 'http://127.0.0.1:9' })
  const creator = process.env.RUNYARD_NOBODY as string
  await assert.rejects(client.runs.deleteMany({ state: ['FAILED'], creator }), /creator is undefined/)
})

test('parameters may be handed on with their type, and fields that are undefined', async (t) => {
  const { client, received } = await serve(t, [
    json({ run_id: 'r1', state: 'QUEUED' }),
    problem(404, 'resource_not_found'),
  ])
  const start = (run: CreateRunParams) => client.runs.createAndWait(run)
  const title: string | undefined = undefined
  await assert.rejects(start({ prompt: 'Go.', title, config: { model_id: undefined } }), NotFoundError)
  assert.deepEqual(JSON.parse(received[0]?.body ?? ''), { prompt: 'Go.', config: {} })
})
