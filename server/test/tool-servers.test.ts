import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { copyFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RunEvent } from '../src/contract/event.ts'
import { makeCertificate } from './support/certificate.ts'
import { removeSandboxesBeside } from './support/docker-images.ts'
import { git, makeRepository } from './support/git.ts'
import { whyNoDocker } from './support/machine.ts'
import { bundleServer, type HttpServer, missingServers, serveEverything } from './support/mcp-servers.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { LONG, onlyLong } from './support/once.ts'
import { TEST_IMAGE } from './support/sandbox-backends.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType } from './support/traces.ts'

const undocked = whyNoDocker()
const SECRET = 'canary-of-a-tool-4b7d'

const MODEL = { OPENAI_API_KEY: 'a-key', RUNYARD_DEFAULT_MODEL: 'openai/scripted' }
const resultsOf = (events: RunEvent[]) => ofType(events, 'tool.result').map(({ data }) => data)
const setupOf = (events: RunEvent[]) =>
  ofType(events, 'setup').flatMap(({ data }) => (data.phase === 'tool_server' ? [data] : []))

const SANDBOXES = LONG ? (['bubblewrap', 'docker'] as const) : (['bubblewrap'] as const)
for (const sandbox of SANDBOXES) {
  const skip = missingServers() || (sandbox === 'docker' && undocked)
  describe(`a published tool server in a sandbox, ${sandbox}`, { skip }, () => {
    const place = temporaryDirectory('local')
    let model: ModelServer
    let service: TestService
    let api: ReturnType<typeof apiOf>
    let ran: string | undefined
    before(async () => {
      makeRepository(join(place, 'tools'))
      for (const name of ['filesystem', 'everything'] as const)
        copyFileSync(bundleServer(name), join(place, 'tools', `${name}.mjs`))
      git(place, '-C', join(place, 'tools'), 'add', '.')
      git(place, '-C', join(place, 'tools'), 'commit', '--quiet', '--message', 'tools')
      model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
      const image = sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}
      const env = { ...MODEL, OPENAI_BASE_URL: model.url, RUNYARD_LOCAL_REPOS: place, ...image }
      service = await startService({ sandbox, env })
      api = apiOf(service)
    })
    after(async () => {
      await service?.stop()
      await model?.close()
      if (ran && sandbox === 'docker') removeSandboxesBeside(ran)
    })

    test('is called, has its secrets, stays up for a follow-up, and ends with the run', async () => {
      await api.json('PUT', '/agent/secrets/TOOL_TOKEN', { value: SECRET })
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: randomUUID(), secrets: ['TOOL_TOKEN'] },
        repositories: [{ local_path: join(place, 'tools', '.git'), directory: 'tools' }],
      })
      const calls = [
        ['files__list_directory', { path: '/workspace/tools' }],
        ['all__get-env', {}],
        ['all__get-tiny-image', {}],
        ['files__read_text_file', { path: '/etc/hostname' }],
        [
          'bash',
          {
            command:
              'ps -eo args 2>/dev/null | grep -c "[e]verything.mjs" || cat /proc/[0-9]*/cmdline | tr "\\0" " " | grep -c "[e]verything.mjs"',
          },
        ],
      ]
      const program = (name: string, ...args: string[]) => ({
        command: 'node',
        args: [`/workspace/tools/${name}.mjs`, ...args],
      })
      const run_id = await api.create({
        prompt: JSON.stringify(calls),
        config: {
          environment_id: uid,
          mcp_servers: {
            files: program('filesystem', '/workspace/tools'),
            all: {
              ...program('everything', 'stdio'),
              env: { GIVEN: 'of-the-request-91', HEADER: `Token \${TOOL_TOKEN}` },
            },
            lost: { command: 'node', args: ['-e', 'console.error(process.env.TOOL_TOKEN); process.exit(4)'] },
            odd: { command: 'node', env: { X: `\${NO_SUCH_NAME}` } },
          },
        },
      })
      ran = run_id
      const run = await api.ended(run_id, 90)
      assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
      const events = await api.events(run_id)
      const results = resultsOf(events)
      assert.match(results[0]?.output ?? '', /\[FILE\] filesystem\.mjs/)
      for (const name of ['GIVEN', 'HEADER']) assert(results[1]?.output?.includes(`"${name}": "***"`), name)
      assert.match(results[2]?.output ?? '', /kept as \/workspace\/artifacts\/image-/)
      assert.deepEqual([results[3]?.is_error, /Access denied/.test(results[3]?.output ?? '')], [true, true])
      const text = JSON.stringify([run, events])
      assert(!text.includes(SECRET) && !text.includes('of-the-request-91'))
      const said = Object.fromEntries(
        setupOf(events).map(({ name, status, output }) => [name, `${status}: ${output}`]),
      )
      assert.equal(said.files, 'finished: 14 tools')
      assert.match(said.all ?? '', /^finished: \d+ tools$/)
      assert.equal(said.lost, 'failed: it ended with exit code 4\n***')
      assert.equal(said.odd, 'failed: it names what the environment does not have: NO_SUCH_NAME')
      const kept = run.artifacts?.map(({ data }) => ('filename' in data ? data.filename : '')) ?? []
      assert(
        kept.some((name) => /image-.*\.png/.test(String(name))),
        JSON.stringify(run.artifacts),
      )

      await api.json('POST', `/agent/runs/${run_id}/followups`, {
        message: JSON.stringify([['files__list_directory', { path: '/workspace/tools' }]]),
      })
      const again = await api.ended(run_id, 60)
      assert.equal(again.state, 'SUCCEEDED', JSON.stringify(again.status_message))
      assert.match(resultsOf(await api.events(run_id)).at(-1)?.output ?? '', /\[FILE\] filesystem/)
    })
  })
}

describe('a tool server with an address', { skip: missingServers() }, () => {
  let everything: HttpServer | undefined
  let odd: { host: string; url: string; close(): void; asked: string[] }
  let far: { host: string; url: string; close(): void; asked: string[] }
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    if (LONG) everything = await serveEverything()
    const certificate = makeCertificate('localhost')
    far = await listen(createTlsServer(certificate), 'https', tell)
    odd = await listen(createServer(), 'http', (request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://x')
      if (pathname === '/moved') response.writeHead(307, { location: far.url }).end()
      else if (pathname === '/endless') {
        response.writeHead(200, { 'content-type': 'application/json' })
        const more = () => {
          while (response.write('x'.repeat(65_536)));
        }
        response.on('drain', more)
        more()
      } else if (pathname === '/broken') response.writeHead(500).end('no such database')
    })
    model = await openModelServer(answerCalls, { models: [{ id: 'scripted' }] })
    service = await startService({
      env: {
        ...{ ...MODEL, OPENAI_BASE_URL: model.url },
        NODE_EXTRA_CA_CERTS: certificate.cert_file,
        RUNYARD_PRIVATE_HOSTS: [...(everything ? [everything.host] : []), odd.host, far.host].join(','),
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await model?.close()
    await everything?.close()
    odd?.close()
    far?.close()
  })

  const run = async (
    mcp_servers: Record<string, unknown>,
    calls: unknown[] = [],
    config: Record<string, unknown> = {},
  ) => {
    const run_id = await api.create({ prompt: JSON.stringify(calls), config: { mcp_servers, ...config } })
    const ended = await api.ended(run_id, 60)
    const events = await api.events(run_id)
    return { run: ended, events, results: resultsOf(events), setup: setupOf(events) }
  }

  // As it is in a sandbox; that what it says comes by HTTP, the server of the tests below shows.
  onlyLong('that was published is called', async () => {
    assert(everything)
    const ended = await run({ all: { url: everything.url } }, [
      ['all__echo', { message: 'over HTTP' }],
      ['all__get-sum', { a: 2, b: 40 }],
    ])
    assert.equal(ended.run.state, 'SUCCEEDED', JSON.stringify(ended.run.status_message))
    assert.match(ended.results[0]?.output ?? '', /over HTTP/)
    assert.match(ended.results[1]?.output ?? '', /42/)
  })

  test('is sent its headers, by TLS too, and nobody reads them', async () => {
    await api.json('PUT', '/agent/secrets/FAR_TOKEN', { value: SECRET })
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: randomUUID(), secrets: ['FAR_TOKEN'] },
    })
    const headers = { Authorization: `Bearer \${FAR_TOKEN}` }
    const ended = await run({ far: { url: far.url, headers } }, [['far__tell', {}]], { environment_id: uid })
    assert.equal(ended.results[0]?.output, 'you said ***')
    assert(!JSON.stringify([ended.run, ended.events]).includes(SECRET))
    assert(far.asked.includes(`Bearer ${SECRET}`))
  })

  test('is not followed elsewhere, not read without end, and told with its own words', async () => {
    const before = far.asked.length
    const at = (path: string) => ({
      url: new URL(path, odd.url).href,
      headers: { Authorization: 'Bearer a-long-token' },
    })
    const ended = await run({ moved: at('/moved'), endless: at('/endless'), broken: at('/broken') })
    assert.equal(ended.run.state, 'SUCCEEDED', JSON.stringify(ended.run.status_message))
    const said = Object.fromEntries(
      ended.setup.map(({ name, status, output }) => [name, `${status}: ${output}`]),
    )
    assert.match(said.moved ?? '', /^failed: .*answers with a redirect, which is not followed/)
    assert.match(said.endless ?? '', /^failed: .*(too long|more than \d+ bytes|not ready within)/)
    assert.match(said.broken ?? '', /^failed: .*500.*no such database/s)
    assert.equal(far.asked.length, before)
  })

  test('whose answer breaks off is told at once, and called again', async () => {
    const ended = await run({ far: { url: far.url.replace('/mcp', '/broken') } }, [
      ['far__tell', { break_off: true }],
      ['far__tell', {}],
    ])
    assert.match(ended.results[0]?.output ?? '', /^The call to the tool server far broke off: /)
    assert((ended.results[0]?.duration_ms ?? 0) < 10_000)
    assert.equal(ended.results[1]?.output, 'you said')
  })

  test('is refused where the environment or the network policy does not let it be reached', async () => {
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: randomUUID(), egress: 'none' },
    })
    const none = await run({ all: { url: odd.url, required: true } }, [], { environment_id: uid })
    assert.equal(none.run.state, 'FAILED')
    assert.equal(none.run.status_message?.error_code, 'environment_setup_failed')
    assert.match(
      none.run.status_message?.message ?? '',
      /all is required.*does not allow the host 127\.0\.0\.1/s,
    )
    assert.equal(ofType(none.events, 'egress.refused').length, 1)

    const port = new URL(service.base_url).port
    const inside = await run({
      own: { url: `http://127.0.0.1:${port}/mcp` },
      named: { url: `http://localhost/mcp` },
      number: { url: 'http://2130706433/mcp' },
      metadata: { url: 'http://169.254.169.254/mcp' },
      tls: { url: 'https://localhost/mcp' },
    })
    assert.equal(inside.run.state, 'SUCCEEDED')
    for (const { name, status, output } of inside.setup) {
      assert.equal(status, 'failed', name)
      assert.match(output ?? '', /Refused by the network policy/, name)
    }
  })
})

/** A server of one tool, which says what it was told in `Authorization`. */
const tell: Handler = (request, response, asked) => {
  let body = ''
  request.on('data', (piece) => (body += piece))
  request.on('end', () => {
    const { authorization = '' } = request.headers
    asked.push(authorization)
    if (body.includes('break_off')) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': soon\n\n')
      return void setTimeout(() => response.end(), 20)
    }
    const message = body === '' ? {} : (JSON.parse(body) as { id?: number; method?: string })
    if (message.id === undefined) return void response.writeHead(request.method === 'GET' ? 405 : 202).end()
    const result =
      message.method === 'initialize'
        ? {
            protocolVersion: '2025-06-18',
            capabilities: { tools: {} },
            serverInfo: { name: 'x', version: '1' },
          }
        : message.method === 'tools/list'
          ? { tools: [{ name: 'tell', inputSchema: { type: 'object' } }] }
          : message.method === 'tools/call'
            ? { content: [{ type: 'text', text: `you said ${authorization}` }] }
            : null
    const error = { code: -32601, message: 'Method not found' }
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) }))
  })
}

type Handler = (...args: [...Parameters<RequestListener>, asked: string[]]) => void

async function listen(
  server: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>,
  scheme: string,
  handle: Handler,
) {
  const asked: string[] = []
  server.on('request', (request, response) => handle(request, response, asked))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const name = scheme === 'https' ? 'localhost' : '127.0.0.1'
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { host: `${name}:${port}`, url: `${scheme}://${name}:${port}/mcp`, close, asked }
}
