/** What the built-in agent gets of the web with fetch_url, and what it can never reach. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { makeCertificate } from './support/certificate.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, startService, type TestService } from './support/service.ts'
import { ofType } from './support/traces.ts'

const SECRET = 'canary-of-a-page-9e02'
/** What addresses encode and Markdown escapes. */
const ODD_SECRET = 'odd_"secret"_of{a}*page*'
const HTML = `<!doctype html><html><head><title>A page</title><style>p {}</style><script>alert(1)</script></head>
<body><h2>Head <em>line</em></h2><p>Text\u001b[31m &amp; more</p><ul><li>one<li>two</ul>
<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table><a href="/next">next</a></body></html>`

describe('fetch_url', () => {
  let web: Site
  let inner: Site
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>

  type Answer = [type: string, body: string | Buffer, headers?: Record<string, string>]
  const ANSWERS: Record<string, Answer> = {
    '/page': ['text/html; charset=utf-8', HTML],
    '/latin': ['text/html; charset=iso-8859-1', Buffer.from('<p>caf\xe9</p>', 'latin1')],
    '/json': ['application/json', '{"a": [1, 2]}'],
    '/packed': ['text/plain', gzipSync('unpacked'), { 'content-encoding': 'gzip' }],
    '/bomb': ['text/plain', gzipSync(Buffer.alloc(64 * 1024 ** 2, 'x')), { 'content-encoding': 'gzip' }],
    '/picture': ['image/png', Buffer.alloc(1234), { 'content-length': '1234' }],
    '/untold': ['', Buffer.from([0, 1, 2, 255])],
    '/odd': ['text/html', `<p>It is ${ODD_SECRET}.</p>`],
    '/cut': ['text/plain', `${'x'.repeat(5 * 1024 ** 2 - 12)}${ODD_SECRET}`],
    '/long': ['text/plain', `begin ${'word '.repeat(20_000)}end`],
    '/deep': ['text/html', `${'<div>'.repeat(50_000)}deep`],
  }
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://x')
    const [type, body, headers] = ANSWERS[pathname] ?? []
    if (body !== undefined)
      response.writeHead(200, { ...(type ? { 'content-type': type } : {}), ...headers }).end(body)
    else if (pathname === '/away') response.writeHead(302, { location: searchParams.get('to') ?? '' }).end()
    else if (pathname === '/round') response.writeHead(302, { location: '/round' }).end()
    else if (pathname === '/stuck') response.writeHead(200, { 'content-type': 'text/plain' }).write('begun')
    else if (pathname === '/headers')
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(request.headers))
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('There is no such page.')
  }

  before(async () => {
    const certificate = makeCertificate('localhost')
    web = await listen(createTlsServer(certificate, serve), 'https')
    inner = await listen(createServer(serve), 'http')
    model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url },
        RUNYARD_DEFAULT_MODEL: 'openai/scripted',
        NODE_EXTRA_CA_CERTS: certificate.cert_file,
        // The one that stands for the web; the other is of the service's own network.
        RUNYARD_PRIVATE_HOSTS: web.host,
        RUNYARD_EGRESS: 'open',
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
    web?.close()
    inner?.close()
  })

  const begin = async (urls: readonly string[], config: Partial<EnvironmentConfig>) => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: randomUUID(), ...config },
    })
    const prompt = JSON.stringify(urls.map((url) => ['fetch_url', { url }]))
    return api.create({ prompt, config: { environment_id: uid } })
  }
  const get = async (urls: readonly string[], config: Partial<EnvironmentConfig> = { egress: 'open' }) => {
    const run_id = await begin(urls, config)
    const run = await api.ended(run_id, 90)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const events = await api.events(run_id)
    const results = ofType(events, 'tool.result').map(({ data }) => data)
    assert.equal(results.length, urls.length)
    return {
      ...{ run, events, results },
      refused: ofType(events, 'egress.refused').map(({ data }) => `${data.host}:${data.port} ${data.reason}`),
    }
  }

  test('gives pages as Markdown, texts as they are, and says what is no text', async () => {
    const paths = [
      'page',
      'latin',
      'json',
      'packed',
      'picture',
      'untold',
      'missing',
      'away?to=/page%23x',
      'round',
    ]
    const { results } = await get(paths.map((path) => `${web.url}/${path}#part`))
    const [page, latin, json, packed, picture, untold, missing, away, round] = results.map(
      ({ output }) => output,
    )
    const about = `[${web.url}/page: HTTP 200, text/html]`
    assert.equal(
      page,
      `${about}\n\n# A page\n\n## Head _line_\n\nText\\[31m & more\n\n* one\n* two\n\n| A | B |\n| - | - |\n| 1 | 2 |\n\n[next](/next)`,
    )
    assert.match(latin ?? '', /\n\ncafé$/)
    assert.match(json ?? '', /: HTTP 200, application\/json\]\n\n\{"a": \[1, 2\]\}$/)
    assert.match(packed ?? '', /\n\nunpacked$/)
    assert.match(picture ?? '', /is no text: image\/png, 1234 bytes\./)
    assert.match(untold ?? '', /is no text: of no known type, 4 bytes\./)
    assert.match(missing ?? '', /: HTTP 404, text\/plain\]\n\nThere is no such page\.$/)
    assert.equal(away, page)
    assert.match(round ?? '', /leads to another address more than 5 times/)
    assert.deepEqual(
      results.map(({ is_error }) => is_error),
      [false, false, false, false, true, true, true, false, true],
    )
  })

  test('reads so much and takes so long, whatever a page is', async () => {
    const { results, run } = await get(['long', 'bomb', 'deep'].map((path) => `${web.url}/${path}`))
    const [long, bomb, deep] = results.map(({ output = '' }) => output)
    assert.match(long ?? '', /begin word.*all of it is in \/workspace\/artifacts\/tool-output\/.*word end$/s)
    assert.match(bomb ?? '', /HTTP 200, text\/plain, only its beginning\]/)
    assert((bomb ?? '').length < 31_000)
    assert.match(deep ?? '', /deep$/)
    assert.equal(run.artifacts.filter(({ artifact_type }) => artifact_type === 'FILE').length, 3)
  })

  test('is given no secret, and no header of the service', async () => {
    await api.json('PUT', '/agent/secrets/PAGE_TOKEN', { value: SECRET })
    const { results } = await get([`${web.url}/headers`], { egress: 'open', secrets: ['PAGE_TOKEN'] })
    const headers = JSON.parse(/\{.*\}/s.exec(results[0]?.output ?? '')?.[0] ?? '{}') as Record<
      string,
      string
    >
    assert.deepEqual(Object.keys(headers).sort(), [
      ...['accept', 'accept-encoding', 'connection', 'host', 'user-agent'],
    ])
  })

  test('shows no value of a secret, however the page or its address spells it', async () => {
    await api.json('PUT', '/agent/secrets/ODD_TOKEN', { value: ODD_SECRET })
    const paths = ['odd', 'cut', `json?t=${ODD_SECRET}`, `picture?t=${ODD_SECRET}`, `json?t=%zz${ODD_SECRET}`]
    const { events, results } = await get(
      paths.map((path) => `${web.url}/${path}`),
      { egress: 'open', secrets: ['ODD_TOKEN'] },
    )
    assert.match(results[0]?.output ?? '', /It is \*\*\*\.$/)
    for (const at of [2, 3, 4]) assert(results[at]?.output?.includes('***'), results[at]?.output)
    // The prompt is kept as it came.
    const told = JSON.stringify(events.filter(({ type }) => type.startsWith('tool.'))).replaceAll('\\', '')
    assert.deepEqual(told.match(/odd_.{0,30}/g), null)
    assert.match(results[1]?.output ?? '', /x$/)
  })

  test('reaches nothing of the service, of its machine or of its network, directly or by a redirect', async () => {
    const { port } = new URL(inner.url)
    const inside = [
      `http://localhost:${port}/json`,
      `http://127.0.0.1:${port}/json`,
      `http://2130706433:${port}/json`,
      `http://0x7f.1:${port}/json`,
      `http://[::1]:${port}/json`,
      `http://[::ffff:127.0.0.1]:${port}/json`,
      `http://0.0.0.0:${port}/json`,
      'http://localhost/',
      'https://localhost/',
      'http://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1/',
      `${service.base_url}/agent/runs`,
    ]
    const others = ['ftp://example.com/', 'file:///etc/passwd', `https://u:p@${web.host}/json`, '/etc/passwd']
    const urls = [
      ...inside,
      ...inside.map((url) => `${web.url}/away?to=${encodeURIComponent(url)}`),
      ...others,
      ...others.slice(0, 3).map((url) => `${web.url}/away?to=${encodeURIComponent(url)}`),
    ]
    const before = inner.asked.length
    const { results, refused } = await get(urls)
    for (const [at, { is_error, output }] of results.entries()) assert(is_error, `${urls[at]}: ${output}`)
    assert.equal(inner.asked.length, before)
    const words = results.map(({ output }) => output ?? '')
    assert.match(words[7] ?? '', /localhost.*no public address|localhost/)
    assert(refused.includes('localhost:80 not_public'), refused.join(', '))
    assert(refused.includes('169.254.169.254:80 no_name'), refused.join(', '))
    assert.match(words[inside.length] ?? '', /localhost/)
  })

  test('goes no further than the list of allowed hosts, by redirects neither', async () => {
    const { results, refused } = await get(
      [`${web.url}/json`, 'https://other.example/', `${web.url}/away?to=https://third.example/`],
      { egress: 'allowlist', allowed_hosts: [web.host] },
    )
    assert.deepEqual(
      results.map(({ is_error }) => is_error),
      [false, true, true],
    )
    assert.match(results[1]?.output ?? '', /other\.example/)
    assert.match(results[2]?.output ?? '', /third\.example/)
    assert.deepEqual(refused, ['other.example:443 not_listed', 'third.example:443 not_listed'])
  })

  test('is not offered where nothing gets out', async () => {
    const { results } = await get([`${web.url}/json`], { egress: 'none' })
    assert.match(results[0]?.output ?? '', /^There is no tool "fetch_url"/)
    const offered = model.requests.at(-1)?.body.tools?.map((tool) => tool.function.name) ?? []
    assert(offered.includes('plan') && !offered.includes('fetch_url'))
  })

  test('ends with its turn', async () => {
    const run_id = await begin([`${web.url}/stuck`], { egress: 'open' })
    await api.until(run_id, () => web.asked.includes('/stuck'), 60)
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    const run = await api.ended(run_id, 20)
    assert.equal(run.state, 'CANCELLED')
  })
})

interface Site {
  url: string
  host: string
  /** Paths. */
  asked: string[]
  close(): void
}

async function listen(server: ReturnType<typeof createServer>, scheme: 'http' | 'https'): Promise<Site> {
  const asked: string[] = []
  server.on('request', ({ url = '' }) => asked.push(url))
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  const host = `localhost:${(server.address() as AddressInfo).port}`
  return {
    ...{ url: `${scheme}://${host}`, host, asked },
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
