/** Answers that are none: each provider's client fails in its own way, and the run says the same of all of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPTIONS, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import {
  ANTHROPIC_EVENTS,
  event,
  GOOGLE_PARTS,
  openProviderServer,
} from '../../test/support/provider-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

const chat = (delta: object, finish_reason: string | null = null) =>
  event({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })

/** What each says when it answers "Hello.", event by event. */
const PROVIDERS: Record<string, readonly string[]> = {
  anthropic: ANTHROPIC_EVENTS,
  google: GOOGLE_PARTS.map((part) => event(part)),
  openai: [chat({ content: 'Hel' }), chat({ content: 'lo.' }), chat({}, 'stop')],
}
const STREAM = 'text/event-stream'
const BROKEN = /^The model provider broke off its answer/
const unreadable = (what: string) => new RegExp(`^The model provider's answer could not be read: ${what}\\.`)
const noStream = (type: string, beginning: string) =>
  unreadable(`it is not a stream of events \\(${type}\\) and begins with "${beginning}"`)

interface Answer {
  status?: number
  /** `null`: none. */
  type?: string | null
  body: string
}
const GARBLED: ReadonlyArray<Answer & { what: string; said: RegExp }> = [
  {
    what: 'no JSON',
    body: 'data: {not json\n\n',
    said: unreadable('(an event of it is|it begins with) ".*{not json"'),
  },
  { what: 'no events', body: '', said: unreadable('it is empty \\(HTTP 200\\)') },
  { what: 'no body', status: 204, type: null, body: '', said: unreadable('it is empty \\(HTTP 204\\)') },
  {
    what: 'nothing but its end',
    body: 'data: [DONE]\n\n',
    said: unreadable('it begins with "data: \\[DONE\\]"'),
  },
  {
    what: 'signs of life alone',
    body: ': a\n\n: b\n\n',
    said: noStream('content type "text/event-stream"', ': a : b'),
  },
  {
    what: 'a page',
    type: 'text/html; charset=utf-8',
    body: '<html>\n<h1>\u001b[31mSign in</h1>',
    said: noStream('content type "text/html; charset=utf-8"', '<html> <h1>Sign in</h1>'),
  },
  {
    what: 'text that quotes the key',
    type: 'text/plain',
    body: `No route for sk-secret-of-ours. ${'x'.repeat(5_000)}`,
    said: noStream('content type "text/plain"', 'No route for \\*\\*\\*\\. x{180}x?x?x?…'),
  },
  { what: 'a page without a type', type: null, body: '<html>', said: noStream('no content type', '<html>') },
  {
    what: 'a document',
    type: 'application/json',
    body: '{"ok":true}',
    said: noStream('content type "application/json"', '{"ok":true}'),
  },
  {
    what: 'a problem with status 200',
    type: 'application/problem+json',
    body: '{"title":"No"}',
    said: noStream('content type "application/problem\\+json"', '{"title":"No"}'),
  },
]
/** Of the interface of OpenAI. */
const NO_NAME = chat({ tool_calls: [{ index: 0, id: 'x', function: { arguments: '{}' } }] })
const UNREADABLE_CHATS: ReadonlyArray<Answer & { what: string; said: RegExp }> = [
  {
    what: 'another shape',
    body: event({ hello: 1 }),
    said: unreadable('it begins with "data: {"hello":1}"'),
  },
  {
    what: 'a call without a name',
    body: NO_NAME + chat({}, 'tool_calls'),
    said: /^The model answered with nothing/,
  },
]

/** A turn with a provider that answers so one time after the other, and then always with the last. */
async function play(provider: string, answers: Answer[]) {
  let asked = 0
  const server = await openProviderServer((_request, response) => {
    const { status = 200, type = STREAM, body } = answers[Math.min(asked, answers.length - 1)] ?? { body: '' }
    asked += 1
    response.writeHead(status, type === null ? {} : { 'content-type': type })
    response.end(body)
  })
  try {
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const settings = { [provider]: { api_key: 'sk-secret-of-ours', base_url: `${server.url}/v1` } }
    const models = openModels({ ...settings, default_model: `${provider}/m` })
    const outcome = await turn.runHarness(createLoop(models, OPTIONS))
    return { turn, outcome, requests: server.requests }
  } finally {
    server.close()
  }
}

for (const [provider, whole] of Object.entries(PROVIDERS)) {
  const cases = [...GARBLED, ...(provider === 'openai' ? UNREADABLE_CHATS : [])]
  for (const { what, said, ...garbled } of cases) {
    test(`${provider}: ${what} in place of an answer is asked for again, then laid to the provider`, async () => {
      const passed = await play(provider, [garbled, { body: whole.join('') }])
      assert.equal(passed.outcome.state, 'SUCCEEDED', passed.outcome.status_message?.message)
      assert.match(passed.turn.data('retrying')[0]?.message ?? '', said)
      assert.equal(passed.turn.data('message.assistant')[0]?.text, 'Hello.')
      const { outcome, requests } = await play(provider, [garbled])
      assert.deepEqual([outcome.state, outcome.status_message?.error_code], ['ERROR', 'resource_unavailable'])
      assert.match(outcome.status_message?.message ?? '', said)
      assert.equal(requests.length, 3)
    })
  }

  test(`${provider}: the stream of another API is told as what it begins with`, async () => {
    const other = provider === 'openai' ? 'anthropic' : 'openai'
    const body = `${PROVIDERS[other]?.join('')}data: [DONE]\n\n`
    const { outcome, requests } = await play(provider, [{ body }])
    assert.match(
      outcome.status_message?.message ?? '',
      unreadable('(an event of it is|it begins with) ".{20,200}…?"'),
    )
    assert.equal(requests.length, 3)
  })

  test(`${provider}: a key that a refusal quotes is hidden`, async () => {
    const message = 'Bad header "sk-secret-of-ours".'
    const long = `${'x'.repeat(285)} sk-secret-of-ours`
    const { outcome } = await play(provider, [
      { status: 422, type: 'application/json', body: JSON.stringify({ error: { message: long } }) },
    ])
    assert.doesNotMatch(outcome.status_message?.message ?? '', /sk-/)
    for (const told of [
      { error: { message } },
      { error: message },
      { object: 'error', message },
      { detail: message },
    ]) {
      const answer = { status: 422, type: 'application/json', body: JSON.stringify(told) }
      const { outcome } = await play(provider, [answer])
      const said = /refused the request \(HTTP 422\): Bad header "\*\*\*"/
      assert.match(outcome.status_message?.message ?? '', said)
    }
  })

  test(`${provider}: a redirect is not followed, with neither the conversation nor the key`, async () => {
    const elsewhere = await openProviderServer((_request, response) => {
      response.writeHead(404).end()
    })
    const server = await openProviderServer(({ url }, response) => {
      response.writeHead(307, { location: elsewhere.url + url }).end()
    })
    try {
      const settings = { [provider]: { api_key: 'k', base_url: `${server.url}/v1` } }
      const models = openModels({ ...settings, default_model: `${provider}/m` })
      const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
      const { state, status_message } = await turn.runHarness(createLoop(models, OPTIONS))
      assert.deepEqual([state, status_message?.error_code], ['FAILED', 'integration_not_configured'])
      assert.match(status_message?.message ?? '', /answers with a redirect \(HTTP 307\)/)
      assert.deepEqual(elsewhere.requests, [])
    } finally {
      for (const each of [server, elsewhere]) each.close()
    }
  })

  test(`${provider}: an answer that ends before its end is not taken for a whole one`, async () => {
    const { turn, outcome } = await play(provider, [
      { body: whole.slice(0, provider === 'anthropic' ? 3 : 1).join('') },
      { body: whole.join('') },
    ])
    assert.equal(outcome.state, 'SUCCEEDED')
    assert.match(turn.data('retrying')[0]?.message ?? '', BROKEN)
    assert.deepEqual(
      turn.data('message.assistant').map(({ text }) => text),
      ['', 'Hello.'],
    )
  })
}

test('an answer has ended where it says so, though its connection stays open', async () => {
  const server = await openProviderServer((_request, response) => {
    response.writeHead(200, { 'content-type': STREAM })
    response.write(`${PROVIDERS.openai?.join('')}data: [DO`)
    setImmediate(() => response.write('NE]\n\n'))
  })
  try {
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const settings = { openai: { api_key: 'k', base_url: `${server.url}/v1` } }
    const models = openModels({ ...settings, default_model: 'openai/m', silence_ms: 2_000 })
    const { state } = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 100 }))
    assert.deepEqual([state, server.requests.length], ['SUCCEEDED', 1])
    assert.equal(turn.data('message.assistant')[0]?.text, 'Hello.')
  } finally {
    server.close()
  }
})

test('a failure that is told in the middle of a stream in the way of no API is no answer that cannot be read', async () => {
  for (const error of ['Overloaded.', { message: 'Overloaded.', code: [] }]) {
    const { turn } = await play('openai', [
      { body: event({ error }) },
      { body: PROVIDERS.openai?.join('') ?? '' },
    ])
    assert.equal(turn.data('retrying')[0]?.message, 'The model provider broke off its answer: Overloaded.')
  }
})
