import assert from 'node:assert/strict'
import test from 'node:test'
import { type Answer, hangUp, json, problem, serve } from '../test/server.ts'
import {
  APIConnectionError,
  APIUserAbortError,
  AuthenticationError,
  NotFoundError,
  type RunStreamEvent,
} from './index.ts'

const stored = (sequence: number, type: string, data: object): string =>
  `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, run_id: 'r1', type, occurred_at: '', data })}\n\n`
const usage = (sequence: number): string => stored(sequence, 'usage', { total_tokens: sequence })
const delta = (offset: number, text: string, message_id = 'm1'): string =>
  `event: message.assistant.delta\ndata: ${JSON.stringify({ run_id: 'r1', message_id, offset, text })}\n\n`
const END = 'event: end\ndata: {"run_id":"r1","last_sequence":9}\n\n'

/** Sends these bytes and then ends the connection, rudely if asked. */
const stream =
  (text: string, how: 'end' | 'destroy' | 'stay' = 'end'): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    response.write(`retry: 1\n\n${text}`, () => {
      if (how === 'end') response.end()
      else if (how === 'destroy') response.destroy()
    })
  }

async function collect(events: AsyncIterable<RunStreamEvent>): Promise<RunStreamEvent[]> {
  const collected: RunStreamEvent[] = []
  for await (const event of events) collected.push(event)
  return collected
}
const sequences = (events: RunStreamEvent[]) =>
  events.map((event) => ('sequence' in event ? event.sequence : event.data.text))

test('a stream ends with the end message', async (t) => {
  const { client, received } = await serve(t, [stream(usage(1) + usage(2) + END, 'stay')])
  assert.deepEqual(sequences(await collect(client.runs.stream('r1', { after: 0 }))), [1, 2])
  assert.equal(received[0]?.headers.accept, 'text/event-stream')
  assert.equal(received[0]?.url, '/api/v1/agent/runs/r1/events?after=0')
})

test('a stream that breaks goes on after the last event, without loss or repeats', async (t) => {
  const { client, received } = await serve(t, [
    stream(usage(1) + usage(2)),
    stream(`${usage(3)}id: 4\nevent: usage\nda`, 'destroy'),
    hangUp,
    problem(503, 'resource_unavailable', { 'retry-after-ms': '1' }),
    stream(usage(3) + usage(4)),
    stream(END),
  ])
  assert.deepEqual(sequences(await collect(client.runs.stream('r1'))), [1, 2, 3, 4])
  assert.deepEqual(
    received.map((request) => request.url.split('after=')[1]),
    ['0', '2', '3', '3', '3', '4'],
  )
})

test('text on its way is not repeated after a reconnect, and begins anew with the next attempt', async (t) => {
  const { client } = await serve(t, [
    stream(delta(0, 'Hel') + delta(3, 'lo ')),
    stream(delta(0, 'Hello wor') + delta(9, 'ld')),
    stream(
      delta(0, 'Hello world') + stored(1, 'attempt.lost', { attempt: 1, reason: '' }) + delta(0, 'Again'),
    ),
    stream(
      delta(0, 'Again!') +
        stored(2, 'message.assistant', { message_id: 'm1', text: 'Again!' }) +
        delta(0, 'Next', 'm2') +
        END,
    ),
  ])
  const events = await collect(client.runs.stream('r1'))
  assert.deepEqual(sequences(events), ['Hel', 'lo ', 'wor', 'ld', 1, 'Again', '!', 2, 'Next'])
  const third = events[2]
  assert.ok(third?.type === 'message.assistant.delta')
  assert.equal(third.data.offset, 6)
})

test('a stream that never brings anything is given up', async (t) => {
  const { client, received } = await serve(t, [stream('')])
  await assert.rejects(collect(client.runs.stream('r1', { maxReconnects: 2 })), APIConnectionError)
  assert.equal(received.length, 3)
})

test('what does not pass ends the stream with its error', async (t) => {
  const { client } = await serve(t, [problem(404, 'resource_not_found')])
  await assert.rejects(collect(client.runs.stream('r1')), NotFoundError)
  const { client: revoked } = await serve(t, [stream(usage(1)), problem(401, 'authentication_required')])
  await assert.rejects(collect(revoked.runs.stream('r1')), AuthenticationError)
  const { client: wrong } = await serve(t, [json({})])
  await assert.rejects(collect(wrong.runs.stream('r1')), /not an event stream/)
})

test('leaving the loop and aborting both hang up', async (t) => {
  const closed: Array<Promise<void>> = []
  const open: Answer = (response, request) => {
    closed.push(new Promise((resolve) => response.once('close', resolve)))
    return stream(usage(1), 'stay')(response, request)
  }
  const { client } = await serve(t, [open])
  for await (const event of client.runs.stream('r1')) {
    assert.equal(event.type, 'usage')
    break
  }
  const controller = new AbortController()
  const aborted = (async () => {
    for await (const _event of client.runs.stream('r1', { signal: controller.signal })) controller.abort()
  })()
  await assert.rejects(aborted, APIUserAbortError)
  await Promise.all(closed)
  assert.equal(closed.length, 2)
})
