import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogle } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { openModelServer } from '../../test/support/model-server.ts'
import {
  ANTHROPIC_EVENTS,
  ANTHROPIC_MESSAGE,
  event,
  GOOGLE_ANSWER,
  GOOGLE_PARTS,
  OPENAI_EVENTS,
  OPENAI_RESPONSE,
  openProviderServer,
  type ProviderRequest,
  type ProviderServer,
} from '../../test/support/provider-server.ts'
import { createEgressProxy } from './egress-proxy.ts'
import type { ModelCall, ModelRules, ModelUsage } from './gateway.ts'
import { createModelGateway } from './model-gateway.ts'
import { createModelMeter } from './model-meter.ts'

const KEY = 'sk-canary-77d0c2b95e'
const TOKEN = 'rym_0123456789abcdefghij'
const PROMPT = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Say hello.' }] }]

interface Opened {
  url: string
  used: ModelUsage[]
  calls: ModelCall[]
  close(): void
}

describe('the model gateway', () => {
  let provider: ProviderServer
  /** How the provider answers now. */
  let reply: (request: ProviderRequest, response: ServerResponse) => unknown
  let gateway: Opened

  /** As a sandbox has it, but for the socket. */
  const open = async (rules: Partial<ModelRules> = {}): Promise<Opened> => {
    const used: ModelUsage[] = []
    const calls: ModelCall[] = []
    const models = createModelGateway(
      {
        token: TOKEN,
        providers: {
          openai: { api: 'openai', api_key: KEY, base_url: `${provider.url}/base/v1/` },
          anthropic: { api: 'anthropic', api_key: KEY, base_url: `${provider.url}/v1` },
          google: { api: 'google', api_key: KEY, base_url: `${provider.url}/v1beta` },
          house: { api: 'openai', api_key: KEY, base_url: `${provider.url}/house/v1` },
        },
        tokens_left: null,
        ...rules,
      },
      { onUsed: (one) => used.push(one), onCall: (call) => calls.push(call) },
    )
    const server: Server = createEgressProxy({ hosts: [], private_hosts: [] }, () => {}, null, models.answer)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const close = () => {
      server.close()
      server.closeAllConnections()
    }
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, used, calls, close }
  }

  before(async () => {
    provider = await openProviderServer((asked, response) => reply(asked, response))
    gateway = await open()
  })
  after(() => {
    gateway.close()
    provider.close()
  })
  beforeEach(() => {
    provider.requests.length = 0
    gateway.used.length = 0
    gateway.calls.length = 0
    reply = (_asked, response) => json(response, {})
  })

  const json = (response: ServerResponse, body: unknown, status = 200, headers: object = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  const stream = (response: ServerResponse, events: readonly string[]) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
    for (const each of events) response.write(each)
    response.end()
  }
  const ask = (path: string, { headers = {}, body = '{}', method = 'POST', to = gateway.url }: Asked = {}) =>
    fetch(`${to}/model/${path}`, {
      method,
      redirect: 'manual',
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      ...(method === 'GET' ? {} : { body, duplex: 'half' as const }),
    })
  interface Asked {
    headers?: Record<string, string>
    body?: NonNullable<RequestInit['body']>
    method?: string
    to?: string
  }
  /** What a request has used is told once its answer has ended on both sides. */
  const until = async <T>(find: () => T | undefined | false): Promise<T> => {
    for (const deadline = Date.now() + 10_000; ; await wait(5)) {
      const found = find()
      if (found) return found
      assert(Date.now() < deadline, 'waited in vain')
    }
  }

  const HELLO = { input_tokens: 30, output_tokens: 7, cached_input_tokens: 12 }
  const openai = () => createOpenAI({ apiKey: TOKEN, baseURL: `${gateway.url}/model/openai/v1` })
  const anthropic = (version = '/v1') =>
    createAnthropic({ apiKey: TOKEN, baseURL: `${gateway.url}/model/anthropic${version}` })
  const google = () => createGoogle({ apiKey: TOKEN, baseURL: `${gateway.url}/model/google/v1beta` })
  const CLIENTS = [
    {
      name: 'OpenAI’s responses',
      model: () => openai().responses('gpt-scripted'),
      at: ['/base/v1/responses'],
      header: ['authorization', `Bearer ${KEY}`],
      whole: OPENAI_RESPONSE,
      events: OPENAI_EVENTS,
      used: { provider: 'openai', model: 'gpt-scripted', ...HELLO },
    },
    {
      name: 'OpenAI’s responses, by another server,',
      model: () =>
        createOpenAI({ apiKey: TOKEN, baseURL: `${gateway.url}/model/house/v1` }).responses('gpt-scripted'),
      at: ['/house/v1/responses'],
      header: ['authorization', `Bearer ${KEY}`],
      whole: OPENAI_RESPONSE,
      events: OPENAI_EVENTS,
      used: { provider: 'house', model: 'gpt-scripted', ...HELLO },
    },
    {
      name: 'Anthropic’s messages',
      model: () => anthropic()('claude-scripted'),
      at: ['/v1/messages'],
      header: ['x-api-key', KEY],
      whole: ANTHROPIC_MESSAGE,
      events: ANTHROPIC_EVENTS,
      used: { provider: 'anthropic', model: 'claude-scripted', ...HELLO, cache_write_tokens: 5 },
    },
    {
      name: 'Anthropic’s messages, by an address without version,',
      model: () => anthropic('')('claude-scripted'),
      at: ['/v1/messages'],
      header: ['x-api-key', KEY],
      whole: ANTHROPIC_MESSAGE,
      events: ANTHROPIC_EVENTS,
      used: { provider: 'anthropic', model: 'claude-scripted', ...HELLO, cache_write_tokens: 5 },
    },
    {
      name: 'Google’s generateContent',
      model: () => google()('gemini-scripted'),
      at: [
        '/v1beta/models/gemini-scripted:generateContent',
        '/v1beta/models/gemini-scripted:streamGenerateContent?alt=sse',
      ],
      header: ['x-goog-api-key', KEY],
      whole: GOOGLE_ANSWER,
      events: GOOGLE_PARTS.map((part) => event(part)),
      used: { provider: 'google', model: 'gemini-scripted', ...HELLO },
    },
  ]
  for (const { name, model, at, header, whole, events, used } of CLIENTS)
    test(`${name} is spoken to its own client, whole and as a stream`, async () => {
      const [key = '', value] = header
      reply = (_asked, response) => json(response, whole)
      const { content } = await model().doGenerate({ prompt: PROMPT })
      assert.equal(content.map((part) => (part.type === 'text' ? part.text : '')).join(''), 'Hello.')
      reply = (_asked, response) => stream(response, events)
      let text = ''
      for await (const part of (await model().doStream({ prompt: PROMPT })).stream)
        if (part.type === 'text-delta') text += part.delta
      assert.equal(text, 'Hello.')
      await until(() => gateway.used.length === 2)
      assert.deepEqual(gateway.used, [used, used])
      assert.deepEqual(
        provider.requests.map(({ url }) => url),
        [at[0], at.at(-1)],
      )
      for (const { headers } of provider.requests) {
        assert.equal(headers[key], value)
        assert.equal(JSON.stringify(headers).includes(TOKEN), false)
      }
    })

  test('OpenAI’s chat is spoken; what an answer does not say is estimated', async () => {
    await using server = await openModelServer(() => ({ text: ['Hel', 'lo.'] }), { api_key: KEY })
    const own = await open({ providers: { openai: { api: 'openai', api_key: KEY, base_url: server.url } } })
    const chat = createOpenAI({ apiKey: TOKEN, baseURL: `${own.url}/model/openai/v1` }).chat('scripted')
    await chat.doGenerate({ prompt: PROMPT })
    for await (const _part of (await chat.doStream({ prompt: PROMPT })).stream);
    const counted = { provider: 'openai', model: 'scripted', input_tokens: 10, output_tokens: 5 }
    await until(() => own.used.length === 2)
    assert.deepEqual(own.used, [
      { ...counted, cached_input_tokens: 0 },
      { ...counted, cached_input_tokens: 0 },
    ])
    const body = JSON.stringify({ model: 'scripted', stream: true, messages: [] })
    const answer = await ask('openai/v1/chat/completions', { body, to: own.url })
    const said = await answer.text()
    assert.equal(said.includes('usage'), false)
    const output_tokens = said.match(/^data:/gm)?.length ?? 0
    const { length } = body
    const last = await until(() => own.used[2])
    assert.deepEqual(last, {
      ...{ ...counted, input_tokens: Math.ceil(length / 4), output_tokens, estimated: true },
    })
    own.close()
  })

  test('an array that Google streams is read too', async () => {
    reply = (_asked, response) => json(response, GOOGLE_PARTS)
    await (await ask('google/v1beta/models/gemini-scripted:streamGenerateContent')).text()
    assert.deepEqual(await until(() => gateway.used[0]), {
      ...{ provider: 'google', model: 'gemini-scripted', ...HELLO },
    })
  })

  test('bodies pass both ways byte for byte, each piece as it comes', async () => {
    const pieces = [
      Buffer.from('data: {"a": "\r\n'),
      Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0x0d, 0xf0]),
      Buffer.from(': x\n\n'),
      Buffer.alloc(300_000, 'data: y\n\n'),
    ]
    const steps = pieces.map(() => Promise.withResolvers<void>())
    reply = async (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-kept': 'yes', 'set-cookie': 'a=b' })
      response.flushHeaders()
      for (const [at, piece] of pieces.entries()) {
        await steps[at]?.promise
        response.write(piece)
      }
      response.end()
    }
    const body = Buffer.from([...Array(1_000).keys()].map((at) => at % 256))
    const answer = await ask('anthropic/v1/messages', { body })
    assert.equal(answer.headers.get('x-kept'), 'yes')
    assert.equal(answer.headers.get('set-cookie'), null)
    const reader = answer.body?.getReader()
    let seen = Buffer.alloc(0)
    for (const [at, piece] of pieces.entries()) {
      steps[at]?.resolve()
      const goal = seen.length + piece.length
      while (seen.length < goal) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        assert.equal(done, false)
        seen = Buffer.concat([seen, value ?? new Uint8Array()])
      }
    }
    assert.deepEqual(seen, Buffer.concat(pieces))
    assert.deepEqual(provider.requests[0]?.body, body)
  })

  test('only the token opens it, where the clients of each provider put their key', async () => {
    const { url } = gateway
    const status = async (path: string, headers: Record<string, string>) =>
      (await fetch(`${url}/model/${path}`, { method: 'POST', headers, body: '{}' })).status
    const paths = ['openai/v1/responses', 'anthropic/v1/messages', 'google/v1beta/models/m:generateContent']
    for (const path of paths) {
      assert.equal(await status(path, {}), 401)
      assert.equal(await status(path, { authorization: `Bearer ${TOKEN}x` }), 401)
      assert.equal(await status(path, { authorization: `Basic ${TOKEN}` }), 401)
      assert.equal(await status(path, { authorization: `Bearer ${KEY}` }), 401)
    }
    assert.equal(await status('openai/v1/responses', { 'x-api-key': TOKEN }), 401)
    assert.equal(await status('anthropic/v1/messages', { 'x-api-key': KEY }), 401)
    assert.equal(await status(`${paths[2]}?key=${KEY}`, {}), 401)
    assert.equal(provider.requests.length, 0)
    assert.equal(await status('openai/v1/responses', { authorization: `Bearer ${TOKEN}` }), 200)
    assert.equal(await status('anthropic/v1/messages', { 'x-api-key': TOKEN }), 200)
    assert.equal(await status('anthropic/v1/messages', { authorization: `Bearer ${TOKEN}` }), 200)
    assert.equal(await status(paths[2] ?? '', { 'x-goog-api-key': TOKEN }), 200)
    assert.equal(await status(`${paths[2]}?key=${TOKEN}&alt=sse`, {}), 200)
    assert.equal(provider.requests.at(-1)?.url, '/v1beta/models/m:generateContent?alt=sse')
  })

  test('errors have the shape of the provider', async () => {
    const read = async (path: string) => (await ask(path)).json()
    const message = 'The model gateway does not pass this on.'
    assert.deepEqual(await read('openai/v1/files'), {
      error: { message, type: 'invalid_request_error', param: null, code: null },
    })
    assert.deepEqual(await read('anthropic/v1/files'), {
      ...{ type: 'error', error: { type: 'not_found_error', message } },
    })
    assert.deepEqual(await read('google/v1beta/files'), {
      error: { code: 404, message, status: 'NOT_FOUND' },
    })
  })

  test('nothing but a few paths is passed on, however it is written', async () => {
    const send = (method: string, path: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const { port } = new URL(gateway.url)
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-length': 0 }
        request({ host: '127.0.0.1', port, method, path, headers }, (answer: IncomingMessage) => {
          answer.resume()
          resolve(answer.statusCode ?? 0)
        })
          .on('error', reject)
          .end()
      })
    for (const path of [
      '/model/openai/v1/chat/completions/../../files',
      '/model/openai/v1/chat/completions/..%2f..%2ffiles',
      '/model/openai/v1/chat%2fcompletions',
      '/model/openai/v1//responses',
      '/model/openai/v1/responses/',
      '/model/openai/v1/responses/resp_1',
      '/model/openai/v1/v1/responses',
      '/model/openai/../anthropic/v1/messages',
      '/model/anthropic/v1/messages/batches',
      '/model/google/v1beta/models/../files:generateContent',
      '/model/google/v1beta/models/..:generateContent',
      '/model/google/v1beta/models/a/b:generateContent',
      '/model/google/v1beta/models/a%2f..%2fb:generateContent',
      '/model/google/v1beta/models/a:batchGenerateContent',
      '/model/google/v1beta/models/a:generateContent\\..\\x',
      '/model/google/v1beta/tunedModels/a:generateContent',
      '/model/mistral/v1/chat/completions',
      '/model/constructor/v1/messages',
      '/model/openai',
      '/model/',
    ])
      assert.equal(await send('POST', path), 404, path)
    for (const path of [
      '/model/openai/v1/models/..',
      '/model/openai/v1/models/a/../../files',
      '/model/openai/v1/models/a%2f..%2f..%2ffiles',
      '/model/openai/v1/models/a%2e%2e',
      '/model/openai/v1/models//files',
      '/model/openai/v1/responses/resp_1/../../files',
      '/model/openai/v1/responses/%2e%2e',
      '/model/openai/v1beta/models',
      '/model/anthropic/v1/models/../files',
      '/model/google/v1beta/v1/models',
      '/model/google/v2/models',
      '/model/google/v1beta/models/../files',
      '/model/google/v1beta/interactions/../files',
    ])
      assert.equal(await send('GET', path), 404, path)
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'])
      assert.equal(await send(method, '/model/openai/v1/responses'), 404, method)
    assert.equal(provider.requests.length, 0)
    for (const path of ['openai/v1/models', 'anthropic/v1/models?limit=5', 'google/v1beta/models?pageSize=5'])
      assert.equal(await send('GET', `/model/${path}`), 200)
    assert.equal(await send('POST', '/model/openai/v1/responses?a=//x@evil/&key=k&$httpMethod=GET'), 200)
    assert.deepEqual(
      provider.requests.map(({ url }) => url),
      ['/base/v1/models', '/v1/models?limit=5', '/v1beta/models?pageSize=5', '/base/v1/responses'],
    )
    assert.deepEqual(gateway.used.length, 1)
  })

  test('no other credential and no choice of who pays is passed on, and what was compressed is not', async () => {
    await ask('openai/v1/responses', {
      headers: {
        ...{ cookie: 'a=b', 'x-api-key': 'own', 'api-key': 'own', 'x-goog-api-key': 'own' },
        ...{ 'openai-organization': 'org', 'openai-project': 'p', 'x-http-method-override': 'GET' },
        ...{ 'x-goog-fieldmask': 'candidates', 'x-original-url': '/v1/files', 'x-forwarded-prefix': '/x' },
        ...{ 'accept-encoding': 'gzip', 'x-stainless-lang': 'js', 'content-type': 'application/json' },
      },
    })
    const { host, connection, ...rest } = provider.requests[0]?.headers ?? {}
    assert.equal(`http://${host}`, provider.url)
    assert.deepEqual(rest, {
      ...{ accept: '*/*', 'accept-encoding': 'identity', 'accept-language': '*' },
      ...{ authorization: `Bearer ${KEY}`, 'content-length': '2', 'content-type': 'application/json' },
      ...{ 'sec-fetch-mode': 'cors', 'user-agent': 'node', 'x-stainless-lang': 'js' },
    })
  })

  test('errors of the provider come through, without the key they quote; redirects do not', async () => {
    for (const status of [401, 429, 500]) {
      reply = (_asked, response) =>
        response
          .writeHead(status, `No for ${KEY}`, {
            ...{ 'retry-after': '7', 'www-authenticate': `Bearer error="${KEY}"` },
            ...{ 'openai-organization': 'whose-key' },
          })
          .end(JSON.stringify({ error: `${status} for ${KEY}` }))
      const answer = await ask('openai/v1/responses')
      assert.deepEqual([answer.status, answer.statusText], [status, 'No for ***'])
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer error="***"')
      assert.equal(answer.headers.get('openai-organization'), null)
      assert.equal(answer.headers.get('retry-after'), '7')
      assert.deepEqual(await answer.json(), { error: `${status} for ***` })
    }
    reply = (_asked, response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()
    const answer = await ask('anthropic/v1/messages')
    assert.equal(answer.status, 502)
    assert.equal(answer.headers.get('location'), null)
    assert.deepEqual(gateway.used, [])
  })

  test('what could not be counted is not passed on', async () => {
    for (const body of ['{"model":"m","background":true}', '{"model":"m","\\u0062ackground":1}', 'x=1']) {
      const answer = await ask('openai/v1/responses', { body })
      assert.equal(answer.status, 400, body)
    }
    const long = `{"input":"${'x'.repeat(3 * 1024 ** 2)}","background":true}`
    assert.equal((await ask('openai/v1/responses', { body: long })).status, 400)
    const gzip = { 'content-encoding': 'gzip' }
    assert.equal((await ask('openai/v1/responses', { headers: gzip })).status, 415)
    // Begun, and never whole.
    assert.equal(
      provider.requests.every(({ body }) => body.length === 0),
      true,
    )
    provider.requests.length = 0
    assert.equal((await ask('google/v1beta/models/m:generateContent?alt=proto')).status, 200)
    assert.equal(provider.requests[0]?.url, '/v1beta/models/m:generateContent')
    gateway.used.length = 0
    for (const status of [200, 401]) {
      reply = (_asked, response) => json(response, OPENAI_RESPONSE, status, { 'content-encoding': 'br' })
      assert.equal((await ask('openai/v1/responses')).status, 502)
    }
    assert.deepEqual(gateway.used, [])
  })

  test('a stream without events is counted by its bytes', () => {
    const meter = createModelMeter('openai', true)
    meter.push(Buffer.alloc(4_000, 'x'))
    assert.equal(meter.end({ whole: true, request_bytes: 0 }).output_tokens, 1_000)
  })

  test('an answer in pieces of a byte is kept in little more than its size', () => {
    const meter = createModelMeter('openai', false)
    const whole = Buffer.from(JSON.stringify({ ...OPENAI_RESPONSE, padding: 'x'.repeat(3 * 1024 ** 2) }))
    const before = process.memoryUsage()
    for (let at = 0; at < whole.length; at += 1) meter.push(whole.subarray(at, at + 1))
    const after = process.memoryUsage()
    const grown = after.heapUsed + after.external - before.heapUsed - before.external
    assert.equal(grown < 64 * 1024 ** 2, true, `${grown} bytes`)
    assert.equal(meter.end({ whole: true, request_bytes: 0 }).input_tokens, 30)
  })

  test('whoever goes away takes the request with them; what was answered is counted, the rest only limits', async () => {
    const own = await open({ tokens_left: 150 })
    for (const events of [[], ANTHROPIC_EVENTS.slice(0, 4), []]) {
      const aborting = new AbortController()
      const asked = Promise.withResolvers<ProviderRequest>()
      reply = (one, response) => {
        asked.resolve(one)
        if (events.length === 0) return
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(events.join(''))
      }
      own.used.length = 0
      const asking = fetch(`${own.url}/model/anthropic/v1/messages`, {
        ...{ method: 'POST', body: 'x'.repeat(400), signal: aborting.signal },
        headers: { 'x-api-key': TOKEN },
      })
      asking.catch(() => {})
      const { gone } = await asked.promise
      if (events.length > 0) await (await asking).body?.getReader().read()
      aborting.abort()
      await gone
      await until(() => own.calls.at(-1)?.state === 'given_up')
      const [used] = own.used
      assert.deepEqual(
        used && [used.input_tokens, used.output_tokens, used.estimated],
        events.length > 0 ? [30, 4, true] : undefined,
      )
    }
    assert.equal((await ask('anthropic/v1/messages', { to: own.url })).status, 403, 'the budget is spent')
    own.close()
  })

  test('a provider that says nothing is given up, before its answer and within it', async () => {
    const own = await open({ silent_ms: 100 })
    reply = () => {}
    const first = await ask('openai/v1/responses', { to: own.url, body: '{"stream":true}' })
    assert.equal(first.status, 504)
    assert.match(await first.text(), /said nothing for 0\.1 seconds/)
    reply = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(OPENAI_EVENTS[0])
    }
    const second = await ask('openai/v1/responses', { to: own.url, body: '{"stream":true}' })
    await assert.rejects(second.text())
    const began = { provider: 'openai', state: 'began' }
    const silent = { ...began, state: 'failed', failure: { type: 'silent', silent_ms: 100 } }
    await until(() => own.calls.length === 4)
    const [one, , other] = own.calls.map(({ id }) => id)
    assert.notEqual(one, other)
    assert.deepEqual(
      own.calls,
      [began, silent, began, silent].map((call, at) => ({ id: at < 2 ? one : other, ...call })),
    )
    assert.deepEqual(
      own.used.map(({ output_tokens }) => output_tokens),
      [1],
      'what got no answer used nothing',
    )
    // An answer in one piece takes its time.
    reply = (_asked, response) => void setTimeout(json, 300, response, OPENAI_RESPONSE)
    assert.equal((await ask('openai/v1/responses', { to: own.url, body: '{"stream":false}' })).status, 200)
    await until(() => own.calls.at(-1)?.state === 'answered')
    own.close()
  })

  test('a provider that is away is told of', async () => {
    const own = await open({
      providers: { openai: { api: 'openai', api_key: KEY, base_url: 'http://127.0.0.1:1/v1' } },
    })
    const answer = await ask('openai/v1/responses', { to: own.url })
    assert.equal(answer.status, 502)
    assert.match(await answer.text(), /The provider openai could not be reached\./)
    const message = 'The provider openai could not be reached.'
    await until(() => own.calls.length === 2)
    const failure = { type: 'unreachable', message, code: 'ECONNREFUSED' }
    const id = own.calls[0]?.id
    assert.deepEqual(own.calls[1], { id, provider: 'openai', state: 'failed', failure })
    assert.equal((await ask('google/v1beta/models/m:generateContent', { to: own.url })).status, 404)
    own.close()
  })

  test('once the budget is spent nothing more is generated', async () => {
    const own = await open({ tokens_left: 40 })
    reply = (_asked, response) => json(response, OPENAI_RESPONSE)
    const status = async (path: string, method = 'POST') => {
      const answer = await ask(path, { method, to: own.url })
      return [answer.status, await answer.text()] as const
    }
    assert.equal((await status('openai/v1/responses'))[0], 200)
    await until(() => own.used.length === 1)
    assert.equal((await status('openai/v1/responses'))[0], 200)
    await until(() => own.used.length === 2)
    const [refused, said] = await status('openai/v1/responses')
    assert.equal(refused, 403)
    assert.match(said, /budget of tokens/)
    assert.equal((await status('google/v1beta/models/m:generateContent'))[0], 403)
    assert.equal((await status('openai/v1/models', 'GET'))[0], 200)
    own.close()
  })

  test('sixteen requests are at work at once, and bodies have a limit', async () => {
    const own = await open()
    const held: ServerResponse[] = []
    reply = (_asked, response) => void held.push(response)
    const asking = Array.from({ length: 16 }, () => ask('openai/v1/responses', { to: own.url }))
    await until(() => held.length === 16)
    const refused = await ask('openai/v1/responses', { to: own.url })
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '1')
    for (const response of held) json(response, OPENAI_RESPONSE)
    for (const answer of await Promise.all(asking)) assert.equal((await answer.text()).length > 0, true)
    await until(() => own.used.length === 16)
    const MiB = Buffer.alloc(1024 ** 2)
    let sent = 0
    const endless = new ReadableStream({
      async pull(controller) {
        await wait(0)
        if (sent++ < 100) controller.enqueue(MiB)
        else controller.close()
      },
    })
    const long = await ask('anthropic/v1/messages', { to: own.url, body: endless }).then(
      ({ status }) => status,
      // Whoever is still sending may not read why.
      () => 413,
    )
    assert.equal(long, 413)
    assert.equal(own.used.length, 16)
    own.close()
  })
})
