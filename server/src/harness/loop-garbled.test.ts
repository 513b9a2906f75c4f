/** Answers that are none: each provider's client fails in its own way, and the run says the same of all of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OPTIONS, sandbox } from '../../test/support/loop-scene.ts'
import {
  ANTHROPIC_EVENTS,
  event,
  GOOGLE_PARTS,
  openProviderServer,
} from '../../test/support/provider-server.ts'
import { TestTurn } from '../../test/support/turn.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

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
const GARBLED: ReadonlyArray<{ what: string; type?: string; body: string; said: RegExp }> = [
  { what: 'no JSON', body: 'data: {not json\n\n', said: BROKEN },
  { what: 'another shape', body: event({ hello: 1 }), said: BROKEN },
  { what: 'no events', body: '', said: BROKEN },
  {
    what: 'a page',
    type: 'text/html; charset=utf-8',
    body: '<html>Sign in</html>',
    said: /^The model provider sent "text\/html; charset=utf-8" in place of a stream of events\. Is its address right\?/,
  },
  { what: 'a document', type: 'application/json', body: '{"ok":true}', said: /sent "application\/json" in/ },
  {
    what: 'a problem with status 200',
    type: 'application/problem+json',
    body: '{"title":"No"}',
    said: /sent "application\/problem\+json" in/,
  },
]

/** A turn with a provider that answers so one time after the other, and then always with the last. */
async function play(provider: string, answers: Array<{ type?: string; body: string }>) {
  let asked = 0
  const server = await openProviderServer((_request, response) => {
    const { type = STREAM, body } = answers[Math.min(asked, answers.length - 1)] ?? { body: '' }
    asked += 1
    response.writeHead(200, { 'content-type': type })
    response.end(body)
  })
  try {
    const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
    const settings = { [provider]: { api_key: 'k', base_url: `${server.url}/v1` } }
    const models = openModels({ ...settings, default_model: `${provider}/m` })
    const outcome = await turn.runHarness(createLoop(models, { ...OPTIONS, retry_for_ms: 100 }))
    return { turn, outcome, requests: server.requests }
  } finally {
    server.close()
  }
}

for (const [provider, whole] of Object.entries(PROVIDERS)) {
  for (const { what, type, body, said } of GARBLED) {
    test(`${provider}: ${what} in place of an answer is asked for again, then laid to the provider`, async () => {
      const garbled = { ...(type && { type }), body }
      const passed = await play(provider, [garbled, { body: whole.join('') }])
      assert.equal(passed.outcome.state, 'SUCCEEDED', passed.outcome.status_message?.message)
      assert.match(passed.turn.data('retrying')[0]?.message ?? '', said)
      assert.equal(passed.turn.data('message.assistant')[0]?.text, 'Hello.')
      const { outcome, requests } = await play(provider, [garbled])
      assert.deepEqual([outcome.state, outcome.status_message?.error_code], ['ERROR', 'resource_unavailable'])
      assert.match(outcome.status_message?.message ?? '', said)
      assert(requests.length > 1)
    })
  }

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
