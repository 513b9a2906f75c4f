import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import test from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { json, problem, serve } from '../test/server.ts'
import { NotFoundError, RunyardError } from './index.ts'

const AT_ONCE = { 'retry-after-ms': '0' }

test('an answer can be had raw, its body unread, after the same retries', async (t) => {
  const { client, received } = await serve(t, [
    problem(503, 'resource_unavailable', AT_ONCE),
    json({ models: [] }),
  ])
  const response = await client.models.list().asResponse()
  assert.deepEqual([response.status, response.bodyUsed, received.length], [200, false, 2])
  assert.deepEqual(await response.json(), { models: [] })
})

test('an answer can be had with what it was parsed to', async (t) => {
  const { client } = await serve(t, [json({ models: [] }, 200, { 'x-request-id': 'request-7' })])
  const { data, response, request_id } = await client.models.list().withResponse()
  assert.deepEqual([data, response.status, request_id], [{ models: [] }, 200, 'request-7'])
})

test('an error status is an error in every form', async (t) => {
  const { client } = await serve(t, [problem(404, 'resource_not_found')])
  await assert.rejects(client.runs.retrieve('r1').asResponse(), NotFoundError)
  await assert.rejects(client.runs.retrieve('r1').withResponse(), NotFoundError)
  await assert.rejects(Promise.all([client.runs.retrieve('r1')]), NotFoundError)
  assert.equal(await client.runs.retrieve('r1').catch(() => 'caught'), 'caught')
})

test('a request is sent once, however often its promise is used, and also when nobody awaits it', async (t) => {
  const { client, received } = await serve(t, [json('r1')])
  const cancelled = client.runs.cancel('r1')
  assert.deepEqual(await Promise.all([cancelled, cancelled, cancelled.finally(() => {})]), ['r1', 'r1', 'r1'])
  assert.equal((await cancelled.asResponse()).status, 200)
  assert.equal(received.length, 1)
  const arrived = Promise.withResolvers<void>()
  const other = await serve(t, [
    (response) => {
      response.end('"r1"')
      arrived.resolve()
    },
  ])
  void other.client.runs.cancel('r1')
  await arrived.promise
})

test('what was asked for raw is not sent again, whatever else the promise is used for', async (t) => {
  const { client, received } = await serve(t, [json({ run_id: 'r1' })])
  const creating = client.runs.create({ prompt: 'Go.' })
  const response = await creating.asResponse()
  const [run, { data }] = await Promise.all([creating, creating.withResponse(), creating.finally(() => {})])
  assert.deepEqual([run.run_id, data.run_id, await response.json()], ['r1', 'r1', { run_id: 'r1' }])
  assert.equal(received.length, 1)
})

test('a raw answer that was read already cannot be parsed as well, and says so', async (t) => {
  const { client } = await serve(t, [json({ run_id: 'r1' })])
  const creating = client.runs.create({ prompt: 'Go.' })
  await (await creating.asResponse()).text()
  await assert.rejects(creating, RunyardError)
})

test('a list asks for nothing before it is awaited or iterated', async (t) => {
  const { client, received } = await serve(t, [problem(404, 'resource_not_found')])
  const runs = client.runs.list()
  const pages = client.runs.list().pages()
  await client.models.list().catch(() => {})
  assert.equal(received.length, 1)
  await assert.rejects(async () => {
    for await (const run of runs) assert.fail(run.run_id)
  }, NotFoundError)
  await assert.rejects(pages.next(), NotFoundError)
})

test('a raw body can be aborted while it is read', async (t) => {
  const { client } = await serve(t, [
    (response) => {
      response.writeHead(200)
      response.write('a beginning')
    },
  ])
  const stop = new AbortController()
  const response = await client.get('/agent/models', { signal: stop.signal, timeout: 1_000 }).asResponse()
  stop.abort()
  await assert.rejects(response.text(), { name: 'AbortError' })
})

test('a signal that outlives its requests does not collect them', async (t) => {
  const { client } = await serve(t, [json({ models: [] })])
  const { signal } = new AbortController()
  for (let count = 0; count < 20; count += 1) {
    await client.models.list({ signal })
    await (await client.models.list({ signal }).asResponse()).text()
  }
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const until = performance.now() + 5_000
  while (getEventListeners(signal, 'abort').length > 1 && performance.now() < until) {
    collectGarbage()
    await setImmediate()
  }
  assert(getEventListeners(signal, 'abort').length <= 1)
})

test('withOptions changes what it is told to and leaves the rest', async (t) => {
  const { client, received } = await serve(t, [problem(503, 'resource_unavailable', AT_ONCE)])
  await assert.rejects(client.withOptions({ maxRetries: 0 }).models.list())
  assert.equal(received.length, 1)
  await assert.rejects(client.models.list())
  assert.equal(received.length, 4)
})
