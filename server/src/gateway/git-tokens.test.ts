import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { serveGitHost } from '../../test/support/git-hosts.ts'
import { addHostedRepository, type GitHostOptions } from '../../test/support/hosted-repositories.ts'
import { temporaryDirectory } from '../../test/support/service.ts'
import { createCheckedFetch } from './checked-fetch.ts'
import type { GitCredential } from './gateway.ts'
import { GitHostFailure } from './git-host-api.ts'
import { openTokens } from './git-tokens.ts'
import { openPullRequest } from './pull-requests.ts'

const MINUTE = 60_000
const makeKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return { privateKey, public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}
const { privateKey, public_key } = makeKey()
// As GitHub hands it out.
const PEM = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
const APP = { app_id: '42', installation_id: '1001', account: 'acme', public_key }

describe('tokens of a GitHub App', () => {
  const closing: (() => void)[] = []
  after(() => {
    for (const close of closing) close()
  })

  const open = async (options: Partial<GitHostOptions> = {}) => {
    const root = temporaryDirectory('hosted')
    addHostedRepository(root, 'acme/site')
    const clock = { here: Date.now(), there: Date.now() }
    const host = await serveGitHost({
      ...{ root, kind: 'github', app: APP, now: () => clock.there },
      ...options,
    })
    closing.push(host.close)
    const ca = readFileSync(host.ca_file, 'utf8')
    const fetch = createCheckedFetch({ hosts: null, private_hosts: [host.host] }, { ca })
    const tokens = openTokens(fetch, { now: () => clock.here, pause_ms: 1 })
    const credential: GitCredential = {
      ...{ name: 'APP_KEY', host: host.host, repositories: null, username: null, secret: PEM },
      ...{ read_only: false, app: { app_id: APP.app_id, installation_id: APP.installation_id } },
    }
    const pass = (ms: number) => {
      clock.here += ms
      clock.there += ms
    }
    return { host, fetch, tokens, credential, clock, pass }
  }
  const bodies = (requests: { body: string }[]) => requests.map(({ body }) => JSON.parse(body) as object)
  const failsWith = (failure: string, says: RegExp) => (error: unknown) =>
    error instanceof GitHostFailure &&
    error.failure === failure &&
    says.test(error.message) &&
    !error.message.includes('PRIVATE')

  test('a token is itself, without a request', async () => {
    const { host, tokens, credential } = await open()
    const plain = { ...credential, secret: 'ghp_x', app: null }
    assert.equal(await tokens.tokenOf(plain, 'acme/site'), 'ghp_x')
    assert.equal(await tokens.tokenOf({ ...plain, secret: 'ghp_x\n' }, 'acme/site'), 'ghp_x')
    for (const secret of [' ', 'PRIVATE a', 'PRIVATE\u0000'])
      await assert.rejects(
        tokens.tokenOf({ ...plain, secret }, 'acme/site'),
        failsWith('refused', /^APP_KEY is no token/),
      )
    assert.equal(host.requests.length, 0)
  })

  test('one is made for one repository, and opens pull requests there', async () => {
    const { host, fetch, tokens, credential } = await open()
    const token = await tokens.tokenOf(credential, 'acme/site')
    const permissions = { contents: 'write', pull_requests: 'write' }
    assert.deepEqual(bodies(host.requests), [{ repositories: ['site'], permissions }])
    const wish = { branch: 'feature', base: null, title: 'A feature', body: '', credential_name: 'APP_KEY' }
    const where = { kind: 'github', host: host.host, path: 'acme/site', token } as const
    const pull = await openPullRequest({ fetch, ...where, ...wish })
    assert.ok('created' in pull && pull.created)
  })

  test('one that only reads may only read', async () => {
    const { host, tokens, credential } = await open()
    await tokens.tokenOf({ ...credential, read_only: true }, 'acme/site')
    assert.deepEqual(bodies(host.requests), [{ repositories: ['site'], permissions: { contents: 'read' } }])
  })

  test('one is kept until five minutes before it ends, for its repository', async () => {
    const { host, tokens, credential, pass } = await open()
    const ask = (path = 'acme/site') => tokens.tokenOf(credential, path)
    const [one, same] = await Promise.all([ask(), ask('Acme/Site')])
    assert.equal(one, same)
    pass(54 * MINUTE)
    assert.equal(await ask(), one)
    assert.equal(host.requests.length, 1)
    pass(2 * MINUTE)
    const [two, again] = await Promise.all([ask(), ask()])
    assert.equal(two, again)
    assert.notEqual(two, one)
    assert.equal(host.requests.length, 2)
    assert.notEqual(await ask('acme/other'), two)
    assert.equal(host.requests.length, 3)
  })

  test('nobody has another’s, whatever their credential says', async () => {
    const { tokens, credential } = await open()
    const other = makeKey().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const [one, two] = await Promise.allSettled([
      tokens.tokenOf(credential, 'acme/site'),
      tokens.tokenOf({ ...credential, secret: other }, 'acme/site'),
    ])
    assert.deepEqual([one.status, two.status], ['fulfilled', 'rejected'])
  })

  test('a failure is told to all who wait, and not kept', async () => {
    let fails = true
    const { host, tokens, credential } = await open({
      interfere: () =>
        fails ? { status: 403, body: { message: 'This installation has been suspended' } } : undefined,
    })
    const ask = () => tokens.tokenOf(credential, 'acme/site')
    const both = await Promise.allSettled([ask(), ask()])
    assert.ok(both.every(({ status }) => status === 'rejected'))
    assert.equal(host.requests.length, 1)
    await assert.rejects(ask(), failsWith('refused', /APP_KEY.*suspended/))
    fails = false
    assert.match(await ask(), /^ghs_/)
  })

  for (const minutes of [-30, 30])
    test(`a host whose clock differs by ${minutes} minutes is told its own time`, async () => {
      const { host, tokens, credential, clock, pass } = await open()
      clock.there += minutes * MINUTE
      const one = await tokens.tokenOf(credential, 'acme/site')
      assert.equal(host.requests.length, 2)
      pass(54 * MINUTE)
      assert.equal(await tokens.tokenOf(credential, 'acme/site'), one)
      pass(2 * MINUTE)
      assert.notEqual(await tokens.tokenOf(credential, 'acme/site'), one)
    })

  test('an App that may do less has a token for that', async () => {
    for (const [permissions, tries] of [
      [{ contents: 'write' }, 2],
      [{ contents: 'read', pull_requests: 'write' }, 3],
    ] as [Record<string, 'read' | 'write'>, number][]) {
      const { host, tokens, credential } = await open({ app: { ...APP, permissions } })
      assert.match(await tokens.tokenOf(credential, 'acme/site'), /^ghs_/)
      assert.equal(host.requests.length, tries)
    }
    const { tokens, credential } = await open({ app: { ...APP, permissions: { issues: 'write' } } })
    await assert.rejects(tokens.tokenOf(credential, 'acme/site'), failsWith('refused', /“Contents”/))
  })

  test('what is wrong with an App is said', async () => {
    const { tokens, credential } = await open({ app: { ...APP, repositories: ['other'] } })
    const { app } = credential
    assert.ok(app)
    const ask = (changed: Partial<GitCredential>) =>
      tokens.tokenOf({ ...credential, ...changed }, 'acme/site')
    await assert.rejects(ask({}), failsWith('not_found', /APP_KEY lacks access to acme\/site/))
    await assert.rejects(ask({ secret: 'PRIVATE' }), failsWith('refused', /APP_KEY is no private key/))
    await assert.rejects(
      ask({ app: { ...app, app_id: '43' } }),
      failsWith('refused', /refused the key APP_KEY for the GitHub App 43/),
    )
    await assert.rejects(
      ask({ app: { ...app, installation_id: '../1001' } }),
      failsWith('not_found', /no installation \.\.\/1001/),
    )
  })

  test('an answer of the wrong shape is no token', async () => {
    for (const body of [
      '<html>',
      [],
      { token: 7, expires_at: '2030-01-01T00:00:00Z' },
      { token: 'x' },
      { token: 'x\r\ny', expires_at: '2030-01-01T00:00:00Z' },
      { token: 'x', expires_at: 'soon' },
    ]) {
      const { tokens, credential } = await open({ interfere: () => ({ status: 201, body }) })
      await assert.rejects(tokens.tokenOf(credential, 'acme/site'), failsWith('other', /something else/))
    }
  })
})
