/** Large files by the gateway: the real git-lfs on one side, a host and its storage on the other. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Egress, GitCredential } from '../src/gateway/gateway.ts'
import { openGateway } from '../src/gateway/open-gateway.ts'
import { openBridge } from './support/bridge.ts'
import { until } from './support/cluster.ts'
import { GIT_ENV, git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository, addLargeFile } from './support/hosted-repositories.ts'
import { serveForbidden } from './support/lfs-host.ts'
import { temporaryDirectory } from './support/service.ts'

const PROGRAM = fileURLToPath(new URL('../src/gateway-process.ts', import.meta.url))
const TOKEN = 'a-token-that-nobody-knows'
const READ_TOKEN = 'a-token-that-only-reads'
const CONTENT = randomBytes(300_000)
const FILTERS = {
  clean: 'git-lfs clean -- %f',
  smudge: 'git-lfs smudge -- %f',
  process: 'git-lfs filter-process',
  required: 'true',
}
const missing = spawnSync('git-lfs', ['version']).status === 0 ? false : 'git-lfs is not installed'

describe('large files by the git gateway', { skip: missing }, () => {
  const root = temporaryDirectory('hosted')
  const refused: string[] = []
  let host: GitHost
  let lfs: NonNullable<GitHost['lfs']>
  let gateway: ReturnType<typeof openGateway>
  let way: Egress
  let bridge: Server
  let base: string
  const certificates = process.env.NODE_EXTRA_CA_CERTS

  before(async () => {
    for (const name of ['site', 'tool', 'other']) {
      addHostedRepository(root, `acme/${name}`)
      addLargeFile(join(root, `acme/${name}.git`), 'large.bin', CONTENT)
    }
    host = await serveGitHost({
      ...{ root, kind: 'github', token: TOKEN, lfs: true },
      tokens: { [READ_TOKEN]: { contents: 'read', pull_requests: 'none' } },
    })
    assert(host.lfs)
    lfs = host.lfs
    process.env.NODE_EXTRA_CA_CERTS = host.ca_file
    gateway = openGateway(PROGRAM, { error: (fields, message) => console.error(message, fields) })
    const credentialOf = (more: Partial<GitCredential>): GitCredential => ({
      ...{ name: 'HOST_TOKEN', host: host.host, repositories: null, username: null, secret: TOKEN },
      ...{ read_only: false, app: null },
      ...more,
    })
    const read = { name: 'READ_TOKEN', repositories: ['acme/tool'], secret: READ_TOKEN, read_only: true }
    way = await gateway.open(
      {
        hosts: [],
        private_hosts: [host.host, lfs.storage],
        git: {
          repositories: ['site', 'tool'].map((name) => ({
            ...{ host: host.host, path: `acme/${name}`, has_suffix: false },
          })),
          credentials: [credentialOf({}), credentialOf(read)],
          branches: ['runyard/*'],
          kinds: { [host.host]: 'github' },
        },
      },
      ({ reason, message }) => refused.push(`${reason}: ${message}`),
    )
    bridge = await openBridge(way.socket)
    base = `http://127.0.0.1:${(bridge.address() as AddressInfo).port}/git/${host.host}`
  })
  after(async () => {
    way?.close()
    bridge?.close()
    host?.close()
    await gateway?.close()
    if (certificates === undefined) delete process.env.NODE_EXTRA_CA_CERTS
    else process.env.NODE_EXTRA_CA_CERTS = certificates
  })
  beforeEach(() => {
    lfs.objects.clear()
    lfs.objects.set(createHash('sha256').update(CONTENT).digest('hex'), CONTENT)
    lfs.lead = undefined
    lfs.redirects = false
    for (const list of [lfs.requests, lfs.asked, lfs.verified, refused]) list.length = 0
  })

  /** Git with LFS, that knows no other settings and no credential. */
  const run = async (directory: string, ...args: string[]) => {
    const settings = Object.entries(FILTERS).flatMap(([name, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, `filter.lfs.${name}`],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ])
    const child = spawn('git', ['-C', directory, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...{ ...GIT_ENV, HOME: root, GIT_TERMINAL_PROMPT: '0' },
        ...{ ...Object.fromEntries(settings), GIT_CONFIG_COUNT: String(settings.length / 2) },
      },
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        said += data
      })
    const [status] = await once(child, 'close')
    return { status, said }
  }
  const clone = async (name: string) => {
    const directory = join(temporaryDirectory('clone'), name)
    return { directory, ...(await run('/', 'clone', '--quiet', `${base}/acme/${name}`, directory)) }
  }
  /** What a sandbox could ask by itself. */
  const ask = async (method: string, path: string, body = '', headers: object = {}) => {
    const { port } = new URL(base)
    const asking = request({ host: '127.0.0.1', port, method, path, headers: { ...headers } })
    asking.end(body)
    const [answer] = await once(asking, 'response')
    return { status: Number(answer.statusCode), said: await text(answer) }
  }
  const batch = async (name: string, operation: string, objects: object[]) =>
    ask(
      'POST',
      `/git/${host.host}/acme/${name}.git/info/lfs/objects/batch`,
      JSON.stringify({ operation, objects }),
    )
  const object = { oid: createHash('sha256').update(CONTENT).digest('hex'), size: CONTENT.length }

  for (const redirects of [false, true])
    test(`are had by a clone${redirects ? ', also where the host sends on to its storage' : ''}`, async () => {
      lfs.redirects = redirects
      const { directory, status, said } = await clone('site')
      assert.equal(status, 0, said)
      assert(readFileSync(join(directory, 'large.bin')).equals(CONTENT))
      // The storage has its own way to let in, and never sees the token.
      for (const { headers } of lfs.requests) assert.equal(headers.authorization, undefined)
      assert.deepEqual(lfs.asked[0]?.transfers, ['basic'])
      assert.equal(spawnSync('grep', ['-r', TOKEN, directory]).status, 1)
    })

  test('are pushed with the branch, whole, and verified', async () => {
    const { directory } = await clone('site')
    const content = randomBytes(5_000_000)
    writeFileSync(join(directory, 'new.bin'), content)
    await run(directory, 'add', '--all')
    await run(directory, 'commit', '--quiet', '-m', 'large')
    const { status, said } = await run(directory, 'push', 'origin', 'HEAD:refs/heads/runyard/one')
    assert.equal(status, 0, said)
    const oid = createHash('sha256').update(content).digest('hex')
    assert(lfs.objects.get(oid)?.equals(content))
    assert.deepEqual(lfs.verified, [oid])
    assert.match(git(join(root, 'acme/site.git'), 'show', 'runyard/one:new.bin'), new RegExp(`sha256:${oid}`))
  })

  test('are not pushed where the secret is for reading', async () => {
    const { directory, status } = await clone('tool')
    assert.equal(status, 0)
    writeFileSync(join(directory, 'new.bin'), randomBytes(1_000))
    await run(directory, 'add', '--all')
    await run(directory, 'commit', '--quiet', '-m', 'large')
    const { said } = await run(directory, 'lfs', 'push', 'origin', 'HEAD')
    assert.match(said, /Nothing can be pushed to .*\/acme\/tool: the secret READ_TOKEN is for reading\./)
    assert.equal(lfs.objects.size, 1)
  })

  test('are had of the environment’s repositories alone, and of other hosts where they are public', async (t) => {
    const other = await batch('other', 'download', [object])
    assert.equal(other.status, 307)
    assert.deepEqual(lfs.asked, [])
    const forbidden = await serveForbidden()
    t.after(() => forbidden.close())
    for (const href of [
      'http://169.254.169.254/latest/meta-data',
      'https://169.254.169.254/latest/meta-data',
      forbidden.url,
      forbidden.url.replace('127.0.0.1', 'localhost'),
      'http://[::ffff:127.0.0.1]/',
      'http://example.com/',
      'https://user:password@example.com/',
      'file:///etc/passwd',
      'gopher://127.0.0.1/',
      'nothing',
    ]) {
      lfs.lead = () => href
      const { said } = await batch('site', 'download', [object])
      const { objects } = JSON.parse(said)
      const { pathname, host: at } = new URL(objects[0].actions.download.href)
      assert.equal(at, `127.0.0.1:${new URL(base).port}`)
      const answer = await ask('GET', pathname)
      // 503: there are no names here.
      assert.equal([403, 502, 503].includes(answer.status), true, `${href}: ${answer.status}`)
    }
    assert.equal(forbidden.asked(), 0)
    assert.match(refused.join('\n'), /addresses without a name are not allowed \(169\.254\.169\.254\)/)
  })

  test('have addresses of one object and one direction, and nothing else of the host in them', async () => {
    const { said } = await batch('site', 'download', [object])
    assert.doesNotMatch(said, /signature|X-Signed/i)
    const { pathname } = new URL(JSON.parse(said).objects[0].actions.download.href)
    for (const [method, path] of [
      ['PUT', pathname],
      ['POST', pathname],
      ['GET', pathname.replace('/site.git/', '/tool.git/')],
      ['GET', pathname.replace(/[0-9a-f]{32}$/, '0'.repeat(32))],
      ['GET', `${pathname}/../${'0'.repeat(32)}`],
    ] as const)
      assert.equal((await ask(method, path)).status, 404, `${method} ${path}`)
    assert.equal((await ask('GET', pathname)).status, 200)
    const range = await ask('GET', pathname, '', { range: 'bytes=299990-' })
    assert.equal(range.status, 206)
    for (const body of [
      '',
      '[]',
      '{"operation":"list","objects":[]}',
      '{"operation":"download"}',
      'x'.repeat(2_000_000),
    ])
      assert.equal(
        (await ask('POST', `/git/${host.host}/acme/site.git/info/lfs/objects/batch`, body)).status,
        422,
      )
    const locks = await ask('POST', `/git/${host.host}/acme/site.git/info/lfs/locks/verify`, '{}')
    assert.equal(locks.status, 501)
  })

  test('that are longer or shorter than was said are not stored', async () => {
    const content = randomBytes(1_000)
    const oid = createHash('sha256').update(content).digest('hex')
    for (const body of ['x'.repeat(999), 'x'.repeat(1_001)]) {
      const { said } = await batch('site', 'upload', [{ oid, size: 1_000 }])
      const { pathname } = new URL(JSON.parse(said).objects[0].actions.upload.href)
      assert.equal((await ask('PUT', pathname, body)).status, 422)
      const chunked = await ask('PUT', pathname, body, { 'transfer-encoding': 'chunked' })
      assert.equal(chunked.status, 502)
    }
    assert.equal(lfs.objects.has(oid), false)
  })

  test('of one sandbox are kept within a budget, whatever hosts say of them', async () => {
    lfs.lead = (href) => `${href}&${'x'.repeat(14_000)}`
    const some = Array.from({ length: 250 }, (_, at) => {
      const content = Buffer.from(String(at))
      const oid = createHash('sha256').update(content).digest('hex')
      lfs.objects.set(oid, content)
      return { oid, size: content.length }
    })
    const addresses: string[] = []
    for (let asked = 0; asked < 3; asked += 1) {
      const { objects } = JSON.parse((await batch('site', 'download', some)).said)
      addresses.push(
        ...objects.map(
          (each: { actions: { download: { href: string } } }) => new URL(each.actions.download.href).pathname,
        ),
      )
    }
    const statuses = await Promise.all(
      [0, 250, 749].map(async (at) => (await ask('GET', addresses[at] ?? '')).status),
    )
    // The storage knows nothing of what was added.
    assert.deepEqual(statuses, [404, 404, 403])
    // What is longer than any address is none.
    lfs.lead = (href) => `${href}&${'x'.repeat(40_000)}`
    assert.equal(JSON.parse((await batch('site', 'download', [object])).said).objects[0].actions, undefined)
  })

  test('are asked about so often at once, also by who never ends a question', async (t) => {
    const { port } = new URL(base)
    const path = `/git/${host.host}/acme/site.git/info/lfs/objects/batch`
    const held = Array.from({ length: 4 }, () => {
      const asking = request({
        host: '127.0.0.1',
        port,
        method: 'POST',
        path,
        headers: { 'content-length': 100 },
      })
      asking.on('error', () => {})
      asking.write('{')
      return asking
    })
    t.after(() => {
      for (const asking of held) asking.destroy()
    })
    await until('the refusal', async () => (await batch('site', 'download', [object])).status === 429)
    for (const asking of held) asking.destroy()
    await until('room again', async () => (await batch('site', 'download', [object])).status === 200)
  })
})
