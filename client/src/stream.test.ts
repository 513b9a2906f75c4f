import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, problem, serve } from '../test/server.ts'

const LIMIT = { timeout: 20_000 }

/** A stream with these lines, which then ends or breaks. */
const stream =
  (text: string, breaks = false): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`retry: 1\n\n${text}`, () => (breaks ? response.destroy() : response.end()))
  }
const event = (sequence: number): string =>
  `event: usage\ndata: ${JSON.stringify({ sequence, run_id: 'r1', type: 'usage', data: {} })}\n\n`

test('onConnection hears of each failure, and once that events come again', LIMIT, async (t) => {
  const away = problem(503, 'resource_unavailable', { 'retry-after-ms': '1' })
  const { client } = await serve(t, [
    away,
    stream(event(1), true),
    away,
    away,
    stream(`${event(2)}event: end\ndata: {}\n\n`),
  ])
  const seen: Array<string | number> = []
  const events = client.runs.stream('r1', {
    onConnection: (change) =>
      seen.push(change.state === 'lost' ? `lost: ${change.error.message}` : change.state),
  })
  for await (const each of events) if ('sequence' in each) seen.push(each.sequence)
  assert.deepEqual(seen, [
    'lost: What happened.',
    'restored',
    1,
    'lost: The event stream broke off.',
    'lost: What happened.',
    'lost: What happened.',
    'restored',
    2,
  ])
})

test('the last failure is the error of the stream, not one to be told of', LIMIT, async (t) => {
  const { client } = await serve(t, [problem(503, 'resource_unavailable', { 'retry-after-ms': '1' })])
  const told: string[] = []
  const events = client.runs.stream('r1', { maxRetries: 1, onConnection: ({ state }) => told.push(state) })
  await assert.rejects(events.next(), /What happened/)
  assert.deepEqual(told, ['lost'])
})
