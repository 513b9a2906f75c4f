import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { after, test } from 'node:test'
import { type ModelSettings, openModels } from './models.ts'

/** A server that answers `GET …/models` with what is given; `seen` holds the requests. */
async function serve(answers: Record<string, unknown>) {
  const seen: Array<{ url: string; headers: IncomingHttpHeaders }> = []
  const server = createServer((request, response) => {
    const url = request.url ?? ''
    seen.push({ url, headers: request.headers })
    const body = answers[url]
    response.writeHead(body === undefined ? 500 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { url: `http://127.0.0.1:${address.port}`, seen }
}
const refused = 'http://127.0.0.1:1/v1'

test('each kind of provider is listed in its own way, with its key', async () => {
  const { url, seen } = await serve({
    '/o/models': {
      data: [
        { id: 'vendor/a', name: 'A', context_length: 8 },
        { id: 'b', max_model_len: 9, name: null },
      ],
    },
    '/a/models?limit=1000': { data: [{ type: 'model', id: 'opus', display_name: 'Opus' }] },
    '/g/models?pageSize=1000': {
      models: [
        {
          name: 'models/gem',
          displayName: 'Gem',
          inputTokenLimit: 7,
          supportedGenerationMethods: ['generateContent'],
        },
        { name: 'models/embed', supportedGenerationMethods: ['embedContent'] },
      ],
    },
  })
  const models = openModels({
    openai: { base_url: `${url}/o/`, api_key: 'k1' },
    anthropic: { base_url: `${url}/a`, api_key: 'k2' },
    google: { base_url: `${url}/g`, api_key: 'k3' },
  })
  assert.deepEqual(await models.list(), [
    { provider: 'anthropic', model_id: 'anthropic/opus', display_name: 'Opus' },
    { provider: 'openai', model_id: 'openai/vendor/a', display_name: 'A', context_window: 8 },
    { provider: 'openai', model_id: 'openai/b', context_window: 9 },
    { provider: 'google', model_id: 'google/gem', display_name: 'Gem', context_window: 7 },
  ])
  const headers = new Map(seen.map((request) => [request.url.slice(0, 2), request.headers]))
  assert.equal(headers.get('/o')?.authorization, 'Bearer k1')
  assert.equal(headers.get('/a')?.['x-api-key'], 'k2')
  assert.equal(headers.get('/g')?.['x-goog-api-key'], 'k3')
})

test('how much a model takes in is what the operator says, else its server, else what is set for all others', async () => {
  const { url } = await serve({
    '/models': {
      data: [{ id: 'told', max_model_len: 9 }, { id: 'other', max_model_len: 9 }, { id: 'untold' }],
    },
  })
  const models = openModels({
    openai: { base_url: url },
    context_windows: { 'openai/told': 7, '*': 5 },
  })
  const windows = (await models.list()).map(({ context_window }) => context_window)
  assert.deepEqual(windows, [7, 9, undefined])
  for (const [id, expected] of [
    ['openai/told', 7],
    ['openai/other', 9],
    ['openai/untold', 5],
  ] as const) {
    const resolved = await models.resolve(id)
    assert.equal('model_id' in resolved && resolved.context_window, expected)
  }
})

test('a listing is asked for once in five minutes, also by many at the same time', async () => {
  const { url, seen } = await serve({ '/models': { data: [{ id: 'a' }] } })
  let time = 0
  const models = openModels({ openai: { base_url: url } }, () => time)
  await Promise.all([models.list(), models.list()])
  time += 299_999
  await models.list()
  assert.equal(seen.length, 1)
  time += 1
  await models.list()
  assert.equal(seen.length, 2)
})

test('a provider that is away, refuses or answers nonsense lists nothing and is asked again soon', async () => {
  const { url, seen } = await serve({ '/strange/models': { data: 'none' } })
  let time = 0
  for (const base_url of [refused, `${url}/broken`, `${url}/strange`]) {
    const models = openModels({ openai: { base_url } }, () => time)
    assert.deepEqual(await models.list(), [])
    time += 15_000
    assert.deepEqual(await models.list(), [])
  }
  assert.equal(seen.length, 4)
})

test('a model is found by provider/model, also when its id holds slashes', async () => {
  const models = openModels({ openai: { base_url: refused }, anthropic: { api_key: 'k' } })
  for (const id of ['openai/vendor/model', 'anthropic/opus']) {
    const resolved = await models.resolve(id)
    assert.ok('model_id' in resolved)
    assert.equal(resolved.model_id, id)
  }
})

test('a bare id works with a single provider, or where a listing has it', async () => {
  const single = await openModels({ openai: { base_url: refused } }).resolve('qwen/qwen3')
  assert.equal('model_id' in single && single.model_id, 'openai/qwen/qwen3')

  const { url } = await serve({ '/models': { data: [{ id: 'local' }] } })
  const two = openModels({ openai: { base_url: url }, anthropic: { api_key: 'k', base_url: refused } })
  const found = await two.resolve('local')
  assert.equal('model_id' in found && found.model_id, 'openai/local')
  const missing = await two.resolve('other')
  assert.match(
    'reason' in missing ? missing.reason : '',
    /"other" is not available.*Available: openai\/local\./,
  )
})

test('a known provider that is not set up is not mistaken for part of an id', async () => {
  const resolved = await openModels({ openai: { base_url: refused } }).resolve('anthropic/opus')
  assert.match('reason' in resolved ? resolved.reason : '', /"anthropic\/opus" is not available/)
})

test('without an id the default is taken, else the first model that can chat', async () => {
  const { url } = await serve({
    '/models': {
      data: [
        { id: 'text-embedding-3' },
        { id: 'whisper-1' },
        { id: 'all-minilm:latest' },
        { id: 'BAAI/bge-m3' },
        { id: 'sentence-transformers/all-mpnet-base-v2' },
        { id: 'gte-large' },
        { id: 'sdxl-turbo' },
        { id: 'kokoro' },
        { id: 'a' },
        { id: 'b' },
      ],
    },
    '/embeds/models': { data: [{ id: 'text-embedding-3' }] },
  })
  const settings = { openai: { base_url: url } }
  const chosen = await openModels({ ...settings, default_model: 'openai/b' }).resolve()
  assert.equal('model_id' in chosen && chosen.model_id, 'openai/b')
  const first = openModels(settings)
  const found = await first.resolve()
  assert.equal('model_id' in found && found.model_id, 'openai/a')
  assert.deepEqual(
    (await first.list()).map(({ model_id }) => model_id),
    ['openai/a', 'openai/b'],
  )
  // A name is a guess; where it leaves nothing, nothing is left out.
  const only = await openModels({ openai: { base_url: `${url}/embeds` } }).resolve()
  assert.equal('model_id' in only && only.model_id, 'openai/text-embedding-3')
  const away = await openModels({ openai: { base_url: refused } }).resolve()
  assert.equal('reason' in away && away.away, true)
})

test('the first provider decides, by a table of defaults as far as it lists them', async () => {
  const names = ['claude-haiku-9', 'claude-sonnet-5-20260801', 'claude-opus-9']
  const { url } = await serve({
    '/a/models?limit=1000': { data: names.map((id) => ({ type: 'model', id })) },
    '/later/models?limit=1000': { data: [{ type: 'model', id: 'claude-sonnet-12' }] },
    '/o/models': { data: [{ id: 'local' }] },
  })
  const anthropic = { api_key: 'k', base_url: `${url}/a` }
  const idOf = async (settings: ModelSettings) => {
    const resolved = await openModels(settings).resolve()
    return 'model_id' in resolved ? resolved.model_id : resolved.reason
  }
  assert.equal(await idOf({ anthropic }), 'anthropic/claude-sonnet-5-20260801')
  assert.equal(
    await idOf({ anthropic: { api_key: 'k', base_url: `${url}/later` } }),
    'anthropic/claude-sonnet-12',
  )
  // One that does not list its models now is known by the table alone.
  const silent = { api_key: 'k', base_url: refused }
  assert.match(await idOf({ anthropic: silent }), /^anthropic\/claude-/)
  assert.match(await idOf({ google: silent }), /^google\/gemini-/)
  const endpoints = { ollama: { base_url: `${url}/o` } }
  assert.equal(await idOf({ endpoints }), 'ollama/local')
  assert.match(await idOf({ endpoints, anthropic }), /^anthropic\//)
})

test('prices and windows are those of the operator, else public ones, else unknown', async () => {
  const names = ['gpt-5.4', 'gpt-5.4-2026-03-05', 'gpt-5.4-turbo-of-mine', 'unheard-of']
  const { url } = await serve({ '/models': { data: names.map((id) => ({ id })) } })
  const own = { 'proxy/unheard-of': { input: 1, output: 10, cached_input: 0.5 } }
  const models = openModels({
    openai: { api_key: 'k' },
    endpoints: { proxy: { base_url: url } },
    prices: own,
  })
  const resolve = async (id: string) => {
    const resolved = await models.resolve(id)
    assert('model_id' in resolved)
    return resolved
  }
  const tokens = { input_tokens: 1_000_000, output_tokens: 100_000, cached_input_tokens: 400_000 }
  const official = await resolve('openai/gpt-5.4')
  const { prices } = official
  assert(prices?.cached_input !== undefined && official.context_window)
  const expected = 0.6 * prices.input + 0.4 * prices.cached_input + 0.1 * prices.output
  // The public prices rise for long requests.
  assert((official.cost({ ...tokens, input_tokens: 1000, cached_input_tokens: 400 }) ?? 0) > 0)
  assert((official.cost(tokens) ?? 0) >= expected - 1e-9)
  assert.deepEqual((await resolve('openai/gpt-5.4-2026-03-05')).prices, prices)
  assert.equal((await resolve('openai/gpt-5.4-turbo-of-mine')).cost(tokens), undefined)
  // The same name at another address costs nobody knows what.
  assert.equal((await resolve('proxy/gpt-5.4')).cost(tokens), undefined)
  assert.equal((await resolve('proxy/unheard-of')).cost(tokens), 0.6 + 0.2 + 1)
  assert.deepEqual(
    (await models.list()).find(({ model_id }) => model_id === 'proxy/unheard-of')?.prices,
    own['proxy/unheard-of'],
  )
  // A provider may say that more came from its cache than was sent.
  assert(Number.isFinite(official.cost({ input_tokens: 5, output_tokens: 0, cached_input_tokens: 9 })))
})

test('a provider needs a key, except an endpoint of one’s own', () => {
  assert.equal(openModels({}).configured, false)
  assert.equal(openModels({ openai: {}, anthropic: {}, google: {} }).configured, false)
  assert.equal(openModels({ openai: { base_url: 'https://api.openai.com/v1' } }).configured, false)
  assert.equal(openModels({ openai: { base_url: 'http://localhost:11434/v1' } }).configured, true)
  assert.equal(openModels({ google: { api_key: 'k' } }).configured, true)
})

test('nothing is kept at OpenAI, and Anthropic’s cache is used', async () => {
  const models = openModels({ openai: { api_key: 'k' }, anthropic: { api_key: 'k' } })
  const [openai, anthropic] = await Promise.all(['openai/x', 'anthropic/x'].map((id) => models.resolve(id)))
  assert.deepEqual(openai && 'model_id' in openai && openai.provider_options, { openai: { store: false } })
  assert.deepEqual(anthropic && 'model_id' in anthropic && anthropic.provider_options, {
    anthropic: { cacheControl: { type: 'ephemeral' } },
  })
})
