import assert from 'node:assert/strict'
import test from 'node:test'
import { type ServerSentEvent, ServerSentEventParser } from './sse.ts'

function parse(chunks: string[]): ServerSentEvent[] {
  const parser = new ServerSentEventParser()
  return chunks.flatMap((chunk) => parser.push(chunk))
}

const STREAM =
  'retry: 1000\n\n: keep-alive\n\nid: 1\nevent: run.state\ndata: {"a":"é😀"}\n\n' +
  'data:two\ndata: lines\nunknown: x\ndata\n\nid: 2\n\nevent: only\n\ndata: last\n\n'

const EXPECTED: ServerSentEvent[] = [
  { event: 'run.state', data: '{"a":"é😀"}', last_event_id: '1' },
  { event: 'message', data: 'two\nlines\n', last_event_id: '1' },
  { event: 'message', data: 'last', last_event_id: '2' },
]

for (const [name, end] of Object.entries({ LF: '\n', CR: '\r', 'CR LF': '\r\n' })) {
  test(`a stream with ${name} reads the same wherever it is cut`, () => {
    const text = STREAM.replaceAll('\n', end)
    assert.deepEqual(parse([text]), EXPECTED)
    assert.deepEqual(parse([...text]), EXPECTED)
    for (let first = 0; first <= text.length; first += 1) {
      for (let second = first; second <= text.length; second += 3) {
        const chunks = [text.slice(0, first), text.slice(first, second), text.slice(second)]
        assert.deepEqual(parse(chunks), EXPECTED, `cut at ${first} and ${second}`)
      }
    }
  })
}

test('an unfinished event is not dispatched', () => {
  assert.deepEqual(parse(['data: complete\n\ndata: cut off\n']), [
    { event: 'message', data: 'complete', last_event_id: '' },
  ])
})

test('retry is read, and only when it is a number', () => {
  const parser = new ServerSentEventParser()
  parser.push('retry: soon\n')
  assert.equal(parser.retry, undefined)
  parser.push('retry: 1500\n')
  assert.equal(parser.retry, 1500)
})
