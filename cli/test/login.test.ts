/** `login` and what belongs to it, with a service whose page allows or refuses. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startService, type TestService } from '../../server/test/support/service.ts'
import { type Ended, Home } from './runyard.ts'

const LIMIT = { timeout: 300_000 }
const home = new Home()
/** Where no `.runyard/client.json` is in the way. */
const directory = mkdtempSync(join(tmpdir(), 'runyard-login-'))
let service: TestService
let origin: string
before(async () => {
  service = await startService()
  origin = new URL(service.base_url).origin
}, LIMIT)
after(async () => {
  await home.remove()
  await service?.stop()
  rmSync(directory, { recursive: true, force: true })
}, LIMIT)

const run = (...args: string[]) => home.run(args, { directory })

/** Logs in, with somebody who answers on the page. */
async function login(grant: boolean, ...more: string[]): Promise<Ended> {
  const command = home.start(['login', origin, ...more], { directory })
  command.stdin.end()
  let told = ''
  const code = await new Promise<string>((resolve) => {
    command.stderr.on('data', (chunk) => {
      told += String(chunk)
      const found = /this code: (\S+)/.exec(told)
      if (found?.[1]) resolve(found[1])
    })
    command.once('close', () => resolve(''))
  })
  if (code) await answerOnPage(code, grant)
  return command.ended
}

async function answerOnPage(user_code: string, grant: boolean): Promise<void> {
  const page = { 'x-runyard-page': '1', origin }
  const key = { authorization: `Bearer ${service.api_key}` }
  const signed = await fetch(`${origin}/web/session`, { method: 'POST', headers: { ...page, ...key } })
  const [cookie = ''] = signed.headers.getSetCookie()
  const answered = await fetch(`${origin}/web/device-login`, {
    method: 'POST',
    headers: { ...page, cookie: cookie.split(';')[0] ?? '', 'content-type': 'application/json' },
    body: JSON.stringify({ user_code, grant }),
  })
  assert.equal(answered.status, 204, await answered.text())
}

test('login gets a key by the page, which commands use until logout revokes it', LIMIT, async () => {
  const host = new URL(origin).host
  const refused = await login(false)
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(refused.stderr, /The login was refused on the page\./)

  const { code, stderr } = await login(true)
  assert.equal(code, 0, stderr)
  assert.match(stderr, new RegExp(`Open ${origin}/device\\?code=`))
  assert.match(stderr, new RegExp(`Logged in to ${origin} as .* \\(user, admin\\).*called ${host}`))
  const file = join(home.directory, '.config/runyard/logins.json')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const who = await run('whoami')
  assert.match(who.stdout, /\(user, admin\), key "login from .*", on http/)
  assert.equal((await run('list')).code, 0)

  // Logging in once more takes the place of it.
  const { api_key } = JSON.parse(readFileSync(file, 'utf8')).profiles[host]
  assert.equal((await login(true, '-o', 'json')).code, 0)
  const statusOf = async (key: string) =>
    (await fetch(`${service.base_url}/agent/runs`, { headers: { authorization: `Bearer ${key}` } })).status
  assert.equal(await statusOf(api_key), 401)
  const later = JSON.parse(readFileSync(file, 'utf8')).profiles[host].api_key as string
  assert.equal(await statusOf(later), 200)
  const out = await run('logout')
  assert.match(out.stderr, /Logged out of http/)
  assert.equal(await statusOf(later), 401)
  assert.equal((await run('whoami')).code, 4)
  assert.equal((await run('logout')).code, 2)
})

test('several logins are chosen by name, by option or variable, and a key can be given', LIMIT, async () => {
  for (const name of ['one', 'two']) {
    const made = await home.run(['login', origin, '--with-key', '--profile', name], {
      ...{ directory, input: `${service.api_key}\n` },
    })
    assert.equal(made.code, 0, made.stderr)
  }
  const listed = await run('profile', 'list', '-o', 'json')
  const { profiles } = JSON.parse(listed.stdout)
  assert.deepEqual(
    profiles.map(({ name, in_use }: { name: string; in_use: boolean }) => [name, in_use]),
    [
      ['one', false],
      ['two', true],
    ],
  )
  assert(!listed.stdout.includes(service.api_key))
  assert.equal((await run('profile', 'use', 'one')).code, 0)
  assert.match((await run('profile', 'list')).stdout, /^\* +one /m)
  const from = async (args: string[], environment: NodeJS.ProcessEnv = {}) =>
    JSON.parse((await home.run(['status', '-o', 'json', ...args], { directory, environment })).stdout)
      .api_key_from
  assert.equal(await from([]), 'the login one')
  assert.equal(await from(['--profile', 'two']), 'the login two')
  assert.equal(await from([], { RUNYARD_PROFILE: 'two' }), 'the login two')
  assert.equal(await from([], { RUNYARD_BASE_URL: service.base_url }), 'the login one')

  // Keys that somebody gave are theirs: only those that the page gave are revoked.
  const out = await run('logout', 'two')
  assert.match(out.stderr, /Its key still works/)
  const { profiles: left } = JSON.parse((await run('profile', 'list', '-o', 'json')).stdout)
  assert.deepEqual(
    left.map(({ name }: { name: string }) => name),
    ['one'],
  )
  assert.equal((await run('list')).code, 0)
  const elsewhere = await home.run(['login', 'http://127.0.0.1:9', '--with-key', '--profile', 'one'], {
    ...{ directory, input: 'a key' },
  })
  assert.deepEqual([elsewhere.code, /The login one is to/.test(elsewhere.stderr)], [2, true])
  const file = join(home.directory, '.config/runyard/logins.json')
  chmodSync(file, 0o644)
  const open_to_all = await run('list')
  assert.deepEqual([open_to_all.code, /can be read by others/.test(open_to_all.stderr)], [2, true])
  chmodSync(file, 0o600)

  for (const [args, code, says] of [
    [['list', '--profile', 'thre'], 2, /There is no login "thre".\nhint: there are: one/],
    [['list', '--profile', 'one', '--api-key', 'x'], 2, /leave --base-url and --api-key out/],
    [['profile', 'use', 'nine'], 2, /There is no login "nine"/],
    [['login', 'ftp://host'], 2, /is not the address of a server/],
    [['login', 'https://user:pw@host'], 2, /is not the address of a server/],
    [['login', origin, '--profile', 'a b', '--with-key'], 2, /called by letters/],
    [['login', origin, '--with-key'], 2, /No key was given/],
    [['login', 'http://127.0.0.1:9'], 4, /cannot be reached/],
    [['login', `${origin}/docs`], 1, /does not answer as a Runyard server does/],
  ] as Array<[string[], number, RegExp]>) {
    const ended = await run(...args)
    assert.equal(ended.code, code, args.join(' ') + ended.stderr)
    assert.match(ended.stderr, says)
  }
})

/** A server that gives each address these answers, one after the other; `null` cuts the connection. */
async function serveAnswers(answers: Record<string, Array<[number, object] | null>>) {
  const server = createServer((request, response: ServerResponse) => {
    const answer = answers[request.url ?? '']?.shift()
    if (!answer) return void request.socket.destroy()
    response.writeHead(answer[0], { 'content-type': 'application/json' }).end(JSON.stringify(answer[1]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    left: () => answers['/oauth/token']?.length,
    [Symbol.dispose]: () => server.close(),
  }
}

test('waits on while the server is away or held up, and says why it could not begin', LIMIT, async () => {
  const begun = {
    ...{ device_code: 'c', user_code: 'BCDF-GHJK', expires_in: 120, interval: 1 },
    verification_uri: 'https://elsewhere.test/device',
  }
  const held_up = { title: 'Too many', status: 429, detail: 'Too many logins were asked for.' }
  using server = await serveAnswers({
    '/oauth/device_authorization': [
      [200, begun],
      [429, held_up],
    ],
    '/oauth/token': [[502, {}], null, [429, held_up], [400, { error: 'access_denied' }]],
  })
  const ended = await run('login', server.origin)
  assert.deepEqual([ended.code, server.left()], [1, 0], ended.stderr)
  assert.match(ended.stderr, /The login was refused on the page\./)
  assert.match(ended.stderr, /That is another server than http:\/\/127/)
  const refused = await run('login', server.origin)
  assert.equal(refused.code, 4)
  assert.match(refused.stderr, /Too many logins were asked for\.\nhint: try again in a minute/)
})
