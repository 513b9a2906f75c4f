/** Git by the gateway: the real client on one side, a host of git on the other, and the gateway's process between them. */

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Egress, GitCredential } from '../src/gateway/gateway.ts'
import { openGateway } from '../src/gateway/open-gateway.ts'
import { FLUSH, writeLine } from '../src/gateway/pkt-line.ts'
import { openBridge } from './support/bridge.ts'
import { GIT_ENV, git, makeRepository } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { temporaryDirectory } from './support/service.ts'

const PROGRAM = fileURLToPath(new URL('../src/gateway-process.ts', import.meta.url))
const TOKEN = 'a-token-that-nobody-knows'
const READ_TOKEN = 'a-token-that-only-reads'

describe('the git gateway', () => {
  const root = temporaryDirectory('hosted')
  const refused: string[] = []
  let heard = ''
  let host: GitHost
  let gateway: ReturnType<typeof openGateway>
  let way: Egress
  let bridge: Server
  let base: string

  const credentialOf = (more: Partial<GitCredential>): GitCredential => ({
    ...{ name: 'HOST_TOKEN', host: host.host, repositories: null, username: null, secret: TOKEN },
    ...{ read_only: false, app: null },
    ...more,
  })
  const path = (name: string) => ({ host: host.host, path: `acme/${name}`, has_suffix: false })

  before(async () => {
    for (const name of ['site', 'other', 'tool', 'moved']) {
      const source = join(temporaryDirectory('source'), 'x')
      makeRepository(source)
      execFileSync('git', ['clone', '--quiet', '--bare', source, join(root, 'acme', `${name}.git`)], {
        env: GIT_ENV,
      })
    }
    host = await serveGitHost({
      root,
      kind: 'github',
      token: TOKEN,
      tokens: { [READ_TOKEN]: { contents: 'read', pull_requests: 'none' } },
      interfere: ({ path }) =>
        path.startsWith('/acme/moved')
          ? { status: 301, headers: { location: `https://${TOKEN}@elsewhere.example/x?token=${TOKEN}` } }
          : undefined,
      onData: (data) => {
        heard += data.toString('latin1')
      },
    })
    process.env.NODE_EXTRA_CA_CERTS = host.ca_file
    gateway = openGateway(PROGRAM, { error: (fields, message) => console.error(message, fields) })
    way = await gateway.open(
      {
        hosts: [],
        private_hosts: [host.host],
        git: {
          repositories: ['site', 'tool', 'moved', 'absent', 'odd', 'long'].map(path),
          credentials: [
            credentialOf({}),
            credentialOf({
              name: 'READ_TOKEN',
              repositories: ['acme/tool'],
              secret: READ_TOKEN,
              read_only: true,
            }),
            credentialOf({ name: 'WRONG', repositories: ['acme/absent'], secret: 'wrong-token' }),
            credentialOf({ name: 'ODD', repositories: ['acme/odd'], secret: 'no token' }),
          ],
          branches: ['runyard/one', 'docs/*', 'fix/機能'],
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
  })

  /** The host and the way to the gateway are of this process, so it must not wait for git. */
  const run = async (directory: string, ...args: string[]) => {
    const child = spawn('git', ['-C', directory, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...GIT_ENV, GIT_TERMINAL_PROMPT: '0', GIT_SSL_NO_VERIFY: '1' },
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        said += data
      })
    const [status] = await once(child, 'close')
    return { status, said }
  }
  const clone = async (name: string): Promise<string> => {
    const directory = join(temporaryDirectory('clone'), name)
    const { status, said } = await run('/', 'clone', '--quiet', `${base}/acme/${name}`, directory)
    assert.equal(status, 0, said)
    return directory
  }
  const commit = (directory: string, text: string) => {
    writeFileSync(join(directory, 'file'), text)
    git(directory, 'commit', '--quiet', '--all', '-m', 'work')
  }
  const hosted = async (name: string, ref: string) =>
    (await run(join(root, 'acme', `${name}.git`), 'rev-parse', ref)).said.trim()

  test('clones and fetches with the credential, which it adds', async () => {
    const directory = await clone('site')
    assert.equal((await run(directory, 'fetch', 'origin', 'feature')).status, 0)
    const { authorization } = host.requests.findLast(({ path }) => path.startsWith('/acme/site')) ?? {}
    assert.equal(authorization, `Basic ${Buffer.from(`x-access-token:${TOKEN}`).toString('base64')}`)
    assert.equal(git(directory, 'config', '--list').includes(TOKEN), false)
  })

  test('pushes the branches of the run, and says of others why not', async () => {
    const directory = await clone('site')
    commit(directory, 'work')
    const head = git(directory, 'rev-parse', 'HEAD')
    assert.equal((await run(directory, 'push', 'origin', 'HEAD:refs/heads/runyard/one')).status, 0)
    assert.equal((await run(directory, 'push', 'origin', 'HEAD:refs/heads/fix/機能')).status, 0)
    assert.equal((await run(directory, 'push', 'origin', 'HEAD:refs/heads/docs/new')).status, 0)
    assert.deepEqual([await hosted('site', 'runyard/one'), await hosted('site', 'docs/new')], [head, head])
    const main = await hosted('site', 'main')
    for (const ref of ['main', 'runyard/two', 'runyard/one/x', 'refs/tags/v9', 'refs/runyard/one']) {
      const { status, said } = await run(
        directory,
        'push',
        '--force',
        'origin',
        `HEAD:${ref.includes('refs/') ? ref : `refs/heads/${ref}`}`,
      )
      assert.equal(status, 1, said)
      assert.match(
        said,
        /\[remote rejected\].*this run may push runyard\/one, docs\/\*, fix\/機能, and not refs\//,
      )
    }
    assert.equal(await hosted('site', 'main'), main)
    assert.equal(
      refused.some((text) => text.startsWith('push: Nothing was pushed to ')),
      true,
    )
  })

  test('pushes all of it or nothing, and deletes nothing', async () => {
    const directory = await clone('site')
    commit(directory, 'half')
    const both = await run(
      directory,
      'push',
      '--force',
      'origin',
      'HEAD:refs/heads/docs/half',
      'HEAD:refs/heads/main',
    )
    assert.match(both.said, /refused with the others/)
    assert.match(await hosted('site', 'refs/heads/docs/half'), /unknown revision|fatal/)
    // Git sends them in the order of their names: the one that is refused may come last.
    const later = await run(
      directory,
      ...['push', 'origin', 'HEAD:refs/heads/docs/half', 'HEAD:refs/heads/not-ours'],
    )
    assert.match(later.said, /refused with the others/)
    for (const branch of ['docs/half', 'not-ours'])
      assert.match(await hosted('site', `refs/heads/${branch}`), /unknown revision|fatal/)
    assert.match(
      (await run(directory, 'push', 'origin', ':docs/new')).said,
      /branches are not deleted from here/,
    )
  })

  test('pushes what is large, in pieces', async () => {
    const directory = await clone('site')
    commit(directory, Array.from({ length: 400_000 }, () => Math.random().toString(36)).join('\n'))
    const { status, said } = await run(directory, 'push', 'origin', 'HEAD:refs/heads/docs/large')
    assert.equal(status, 0, said)
    assert.equal(await hosted('site', 'docs/large'), git(directory, 'rev-parse', 'HEAD'))
  })

  test('does not push where the secret is for reading', async () => {
    const directory = await clone('tool')
    const { said } = await run(directory, 'push', 'origin', 'HEAD:refs/heads/runyard/one')
    assert.match(
      said,
      /remote: Nothing can be pushed to .*\/acme\/tool: the secret READ_TOKEN is for reading\./,
    )
  })

  test('sends git back with a repository that the environment does not name', async () => {
    const { said } = await run('/', 'clone', `${base}/acme/other`, join(temporaryDirectory('clone'), 'x'))
    // By itself, without a credential and without the gateway.
    assert.match(said, new RegExp(`could not read Username for 'https://${host.host}'`))
    const asked = host.requests.filter(({ path }) => path.startsWith('/acme/other'))
    assert.deepEqual(
      asked.filter(({ authorization }) => authorization),
      [],
    )
  })

  test('says what a host has against it', async () => {
    const into = join(temporaryDirectory('clone'), 'x')
    assert.match(
      (await run('/', 'clone', `${base}/acme/moved`, into)).said,
      /remote: .*acme\/moved has moved \(https:\/\/elsewhere\.example\/x\)\./,
    )
    assert.match(
      (await run('/', 'clone', `${base}/acme/absent`, into)).said,
      /remote: .* refused the secret WRONG for acme\/absent/,
    )
    assert.match((await run('/', 'clone', `${base}/acme/odd`, into)).said, /remote: ODD is no token: /)
    assert.equal(
      refused.some((text) => text.startsWith('credential: ')),
      true,
    )
  })

  test('takes nothing but git’s own requests, of the repositories alone', async () => {
    const asked = host.requests.length
    for (const [method, url] of [
      ['GET', '/acme/site/info/refs'],
      ['GET', '/acme/site/HEAD'],
      ['GET', '/acme/site/objects/info/packs'],
      ['POST', '/acme/site/info/refs?service=git-upload-pack'],
      ['GET', '/acme/site/git-upload-pack'],
      ['POST', '/acme/site/git-upload-archive'],
      ['GET', '/acme/site/../other/info/refs?service=git-receive-pack'],
      ['POST', '/acme/site/../other/git-receive-pack'],
      ['POST', '/acme/site%2f..%2fother/git-upload-pack'],
      ['POST', '/acme/site/.git/../../other/git-upload-pack'],
      ['GET', '/api/v3/user'],
      ['GET', '/acme/site/info/refs?service=git-upload-pack&x=1'],
    ]) {
      const status = await ask(method ?? '', url ?? '')
      assert.match(status, /^HTTP\/1\.1 (403|404) /, `${method} ${url}: ${status}`)
    }
    assert.deepEqual(host.requests.slice(asked), [])
  })

  test('takes no options of a push, wherever they are announced', async () => {
    const directory = await clone('site')
    const head = git(directory, 'rev-parse', 'HEAD')
    const asked = host.requests.length
    const command = `${'0'.repeat(40)} ${head} refs/heads/docs/options\0`
    const body = [`${command}report-status`, `${command}push-options`].map(writeLine).join('') + FLUSH
    const status = await ask('POST', '/acme/site/git-receive-pack', body)
    assert.match(status, /^HTTP\/1\.1 400 /)
    assert.deepEqual(host.requests.slice(asked), [])
  })

  test('sends no body with a question: a host might take it for another request', async () => {
    heard = ''
    const smuggled = 'GET /api/v3/user HTTP/1.1\r\nHost: x\r\n\r\n'
    await ask('GET', '/acme/site/info/refs?service=git-upload-pack', smuggled)
    assert.match(heard, /^GET \/acme\/site/)
    assert.equal(heard.includes('/user'), false)
  })

  /** Sent as it is. */
  const ask = (method: string, url: string, body = ''): Promise<string> =>
    new Promise((resolve) => {
      const client = connect(way.socket)
      let answer = ''
      client.on('data', (data) => {
        answer += data
      })
      client.on('close', () => resolve(answer.split('\r\n')[0] ?? ''))
      client.write(
        `${method} /git/${host.host}${url} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
      )
    })

  test('finds a branch of a repository with ids of SHA-256 again', async () => {
    const options = ['--quiet', '--initial-branch=main', '--object-format=sha256']
    execFileSync('git', ['init', ...options, '--bare', join(root, 'acme/long.git')], { env: GIT_ENV })
    const directory = join(temporaryDirectory('long'), 'long')
    execFileSync('git', ['init', ...options, directory], { env: GIT_ENV })
    writeFileSync(join(directory, 'file'), 'first')
    git(directory, 'add', 'file')
    git(directory, 'commit', '--quiet', '-m', 'first')
    const pushed = await run(directory, 'push', `${base}/acme/long`, 'HEAD:refs/heads/runyard/one')
    assert.equal(pushed.status, 0, pushed.said)
    const commit = git(directory, 'rev-parse', 'HEAD')
    const request = { host: host.host, path: 'acme/long', branch: 'runyard/one' }
    assert.match(JSON.stringify(await way.publish({ ...request, commit })), /^\{"url":/)
    assert.match(JSON.stringify(await way.publish({ ...request, commit: 'f'.repeat(64) })), /does not have/)
  })

  test('has a pull request opened once, for a branch that was pushed', async () => {
    const commit = await hosted('site', 'runyard/one')
    const request = { host: host.host, path: 'acme/site', branch: 'runyard/one', commit }
    assert.deepEqual(await way.publish(request), { url: `${host.url}/acme/site/tree/runyard/one` })
    const other = { ...request, commit: await hosted('site', 'main') }
    assert.match(JSON.stringify(await way.publish(other)), /does not have [0-9a-f]{40} as runyard\/one/)
    assert.match(JSON.stringify(await way.publish({ ...request, branch: 'runyard/none' })), /does not have/)
    const pull_request = { base: 'feature', title: 'A title', body: 'A body' }
    const opened = await way.publish({ ...request, pull_request })
    assert.deepEqual(opened, {
      url: `${host.url}/acme/site/pull/1`,
      pull_request: { number: 1, url: `${host.url}/acme/site/pull/1` },
    })
    assert.deepEqual(await way.publish({ ...request, pull_request }), opened)
    assert.equal(host.pulls.length, 1)
    const wrong = await way.publish({ ...request, path: 'acme/absent', pull_request })
    assert.match('failure' in wrong ? wrong.failure : '', /WRONG/)
  })
})
