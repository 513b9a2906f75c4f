import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { after, test } from 'node:test'
import { openModels } from './models.ts'

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
    { provider: 'openai', model_id: 'openai/vendor/a', display_name: 'A', context_window: 8 },
    { provider: 'openai', model_id: 'openai/b', context_window: 9 },
    { provider: 'anthropic', model_id: 'anthropic/opus', display_name: 'Opus' },
    { provider: 'google', model_id: 'google/gem', display_name: 'Gem', context_window: 7 },
  ])
  const headers = new Map(seen.map((request) => [request.url.slice(0, 2), request.headers]))
  assert.equal(headers.get('/o')?.authorization, 'Bearer k1')
  assert.equal(headers.get('/a')?.['x-api-key'], 'k2')
  assert.equal(headers.get('/g')?.['x-goog-api-key'], 'k3')
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
    assert.ok('model' in resolved)
    assert.equal(resolved.model_id, id)
  }
})

test('a bare id works with a single provider, or where a listing has it', async () => {
  const single = await openModels({ openai: { base_url: refused } }).resolve('qwen/qwen3')
  assert.equal('model' in single && single.model_id, 'openai/qwen/qwen3')

  const { url } = await serve({ '/models': { data: [{ id: 'local' }] } })
  const two = openModels({ openai: { base_url: url }, anthropic: { api_key: 'k', base_url: refused } })
  const found = await two.resolve('local')
  assert.equal('model' in found && found.model_id, 'openai/local')
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

test('without an id the default is taken, else the only model, else the caller is asked to choose', async () => {
  const one = await serve({ '/models': { data: [{ id: 'a' }] } })
  const both = await serve({ '/models': { data: [{ id: 'a' }, { id: 'b' }] } })
  const chosen = await openModels({ openai: { base_url: both.url }, default_model: 'openai/b' }).resolve()
  assert.equal('model' in chosen && chosen.model_id, 'openai/b')
  const only = await openModels({ openai: { base_url: one.url } }).resolve()
  assert.equal('model' in only && only.model_id, 'openai/a')
  const asked = await openModels({ openai: { base_url: both.url } }).resolve()
  assert.match('reason' in asked ? asked.reason : '', /config\.model_id.*openai\/a, openai\/b/)
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
  assert.deepEqual(openai && 'model' in openai && openai.provider_options, { openai: { store: false } })
  assert.deepEqual(anthropic && 'model' in anthropic && anthropic.provider_options, {
    anthropic: { cacheControl: { type: 'ephemeral' } },
  })
})
