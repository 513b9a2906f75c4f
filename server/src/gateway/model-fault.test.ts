/** Providers that begin an answer with 200 and fail in the middle of it: each in its own words. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { event, openProviderServer, type ProviderServer } from '../../test/support/provider-server.ts'
import type { ModelApi, ModelCall } from './gateway.ts'
import { createModelGateway } from './model-gateway.ts'

const KEY = 'sk-canary-0b6f4c7d21'
const TOKEN = 'rym_0123456789abcdefghij'

interface Case {
  what: string
  api: ModelApi
  path: string
  events: string[]
  /** What is told of it; absent: nothing failed. */
  error?: object
}

const chat = (data: object) => event({ id: '1', choices: [], ...data })
const CASES: Case[] = [
  {
    ...{ what: 'Anthropic’s messages', api: 'anthropic', path: 'v1/messages' },
    events: [
      event(
        { type: 'message_start', message: { model: 'claude', usage: { input_tokens: 3 } } },
        'message_start',
      ),
      event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'error'),
    ],
    error: { message: 'Overloaded', type: 'overloaded_error' },
  },
  {
    ...{ what: 'OpenAI’s chat', api: 'openai', path: 'v1/chat/completions' },
    events: [
      chat({ model: 'gpt', choices: [{ index: 0, delta: { content: 'Now "error" and {"error": {}}' } }] }),
      event({ error: { message: `Not with ${KEY}`, type: 'server_error', code: 'busy', param: null } }),
      event('[DONE]'),
    ],
    error: { message: 'Not with ***', code: 'busy', type: 'server_error' },
  },
  {
    ...{ what: 'OpenAI’s chat, as a text', api: 'openai', path: 'v1/chat/completions' },
    events: [chat({ model: 'gpt' }), event({ error: 'out of memory' })],
    error: { message: 'out of memory' },
  },
  {
    ...{ what: 'OpenAI’s responses', api: 'openai', path: 'v1/responses' },
    events: [
      event({ type: 'response.created', response: { model: 'gpt', error: null } }, 'response.created'),
      event({ type: 'error', code: 'server_error', message: 'It broke', param: null }, 'error'),
    ],
    error: { message: 'It broke', code: 'server_error' },
  },
  {
    ...{ what: 'OpenAI’s responses, of the response', api: 'openai', path: 'v1/responses' },
    events: [
      event({ type: 'response.created', response: { model: 'gpt', error: null } }, 'response.created'),
      event(
        {
          type: 'response.failed',
          response: { error: { code: 'rate_limit_exceeded', message: 'Slow down' } },
        },
        'response.failed',
      ),
    ],
    error: { message: 'Slow down', code: 'rate_limit_exceeded' },
  },
  {
    ...{ what: 'Google', api: 'google', path: 'v1beta/models/gemini-2:streamGenerateContent?alt=sse' },
    events: [
      event({ modelVersion: 'gemini', candidates: [] }),
      event({ error: { code: 503, message: 'Try later', status: 'UNAVAILABLE' } }),
    ],
    error: { message: 'Try later', code: 503, type: 'UNAVAILABLE' },
  },
  {
    ...{ what: 'an answer that only speaks of errors', api: 'openai', path: 'v1/chat/completions' },
    events: [
      chat({
        model: 'gpt',
        error: null,
        choices: [{ index: 0, delta: { content: '{"error": {"code": 1}}' } }],
      }),
      chat({ usage: { prompt_tokens: 1, completion_tokens: 1 }, error: null }),
      event('[DONE]'),
    ],
  },
]

describe('an answer that fails after it began with a success', () => {
  let provider: ProviderServer
  let pieces: readonly string[] = []
  let base = ''
  const calls: ModelCall[] = []
  const closers: Array<() => void> = []

  before(async () => {
    provider = await openProviderServer((_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      // A line in two pieces is one line.
      for (const piece of pieces)
        for (const half of [piece.slice(0, 20), piece.slice(20)]) response.write(half)
      response.end()
    })
    const to = (api: ModelApi) => ({ api, api_key: KEY, base_url: provider.url })
    const gateway = createModelGateway(
      {
        token: TOKEN,
        providers: { openai: to('openai'), anthropic: to('anthropic'), google: to('google') },
        tokens_left: null,
      },
      { onUsed: () => {}, onCall: (call) => calls.push(call) },
    )
    const server = createServer((incoming, response) => {
      gateway.answer(incoming, response, new AbortController().signal)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`
    closers.push(
      () => server.close(),
      () => server.closeAllConnections(),
    )
  })
  after(() => {
    for (const close of closers) close()
    provider.close()
  })

  for (const { what, api, path, events, error } of CASES)
    test(`${what}: is passed on as it is, and ${error ? 'told' : 'is none'}`, async () => {
      pieces = events
      calls.length = 0
      const headers = { authorization: `Bearer ${TOKEN}` }
      const answer = await fetch(`${base}/${api}/${path}`, { method: 'POST', headers, body: '{}' })
      assert.equal(answer.status, 200)
      assert.equal(await answer.text(), events.join(''))
      const [began, end] = calls
      const call = { id: began?.id, provider: api }
      assert.deepEqual(began, { ...call, state: 'began' })
      if (!error) return assert.deepEqual(end, { ...call, state: 'answered' })
      assert(end?.state === 'failed' && end.failure.type === 'broken_off')
      assert.deepEqual(JSON.parse(end.failure.body ?? ''), { error })
    })
})
