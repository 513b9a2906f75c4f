import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, json, problem, serve } from '../test/server.ts'
import { APIUserAbortError, RunFailedError } from './index.ts'

const page = (ids: string[], next_cursor?: string): Answer =>
  json({
    runs: ids.map((run_id) => ({ run_id })),
    page_info: next_cursor ? { has_next_page: true, next_cursor } : { has_next_page: false },
  })
const run = (state: string, message?: string): Answer =>
  json({ run_id: 'r1', state, ...(message ? { status_message: { message } } : {}) })
const ended: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: end\ndata: {}\n\n')
}
const blocked: Answer = (response) => {
  const event = { sequence: 1, run_id: 'r1', type: 'run.state', occurred_at: '', data: { state: 'BLOCKED' } }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(`id: 1\nevent: run.state\ndata: ${JSON.stringify(event)}\n\n`)
}

test('a list is awaited as a page and iterated through all pages, with the same filters', async (t) => {
  const { client, received } = await serve(t, [page(['a', 'b'], 'c1'), page(['c'], 'c2'), page([])])
  const ids: string[] = []
  for await (const item of client.runs.list({ limit: 2, state: ['QUEUED'] })) ids.push(item.run_id)
  assert.deepEqual(ids, ['a', 'b', 'c'])
  assert.deepEqual(
    received.map((request) => request.url.split('?')[1]),
    ['limit=2&state=QUEUED', 'limit=2&state=QUEUED&cursor=c1', 'limit=2&state=QUEUED&cursor=c2'],
  )
  const { client: other, received: asked } = await serve(t, [page(['a'], 'c1')])
  const first = await other.runs.list()
  assert.equal(first.page_info.next_cursor, 'c1')
  assert.equal(asked.length, 1)
})

test('cancel returns the bare id', async (t) => {
  const { client, received } = await serve(t, [json('r1')])
  assert.equal(await client.runs.cancel('r1'), 'r1')
  assert.equal(received[0]?.body, '')
  assert.equal(received[0]?.headers['content-type'], undefined)
})

test('a transcript follows its redirect', async (t) => {
  const { client, received } = await serve(t, [
    (response) => void response.writeHead(302, { location: '/downloads/x' }).end(),
    (response) => void response.end('{"sequence":1}\n'),
  ])
  assert.equal(await client.runs.transcript('r1'), '{"sequence":1}\n')
  assert.equal(received[1]?.url, '/downloads/x')
})

test('wait returns the run that ended, and throws when it failed unless told not to', async (t) => {
  const { client: good } = await serve(t, [ended, run('SUCCEEDED')])
  assert.equal((await good.runs.wait('r1')).state, 'SUCCEEDED')
  const { client: bad } = await serve(t, [ended, run('FAILED', 'Step 1 failed.')])
  await assert.rejects(bad.runs.wait('r1'), (error) => {
    assert.ok(error instanceof RunFailedError)
    assert.equal(error.message, 'Step 1 failed.')
    assert.equal(error.run.state, 'FAILED')
    return true
  })
  const { client: told } = await serve(t, [ended, run('CANCELLED')])
  assert.equal((await told.runs.wait('r1', { throwOnFailure: false })).state, 'CANCELLED')
})

test('wait returns a run that waits for a person', async (t) => {
  const { client } = await serve(t, [blocked, run('BLOCKED'), run('BLOCKED')])
  assert.equal((await client.runs.wait('r1')).state, 'BLOCKED')
})

test('wait looks now and then when streams do not work', async (t) => {
  const broken = problem(502, 'internal_error', { 'retry-after-ms': '1' })
  const { client, received } = await serve(t, [broken, broken, broken, run('INPROGRESS'), run('SUCCEEDED')])
  assert.equal((await client.runs.wait('r1')).state, 'SUCCEEDED')
  assert.equal(received.filter((request) => request.url.endsWith('/r1')).length, 2)
})

test('an abort ends a wait', async (t) => {
  const { client } = await serve(t, [blocked, run('INPROGRESS')])
  await assert.rejects(client.runs.wait('r1', { signal: AbortSignal.timeout(50) }), APIUserAbortError)
})
