import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
interface NewKey {
  api_key: string
  key_id: string
  principal_id: string
}
let other: Home

/** What the page does with a link. */
const signIn = (link: string): Promise<Response> => {
  const { origin, hash } = new URL(link)
  const token = new URLSearchParams(hash.slice(1)).get('token')
  return fetch(`${origin}/web/session`, {
    method: 'POST',
    headers: { origin, 'x-runyard-page': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
}
beforeEach(() => {
  other = new Home()
})
afterEach(() => other.remove(), LIMIT)

test('one line of JSON, a private file, one per data directory, and a clean end', LIMIT, async () => {
  const first = other.spawn(['dev', '--port', '0', '--data-dir', 'data', '--json'])
  const line = await printedBy(first, /\n/)
  const ready = JSON.parse(line) as Record<string, string>
  assert.deepEqual(Object.keys(ready), [
    'base_url',
    'api_key',
    'web_url',
    'sign_in_url',
    'sandbox',
    'database',
  ])
  assert.match(ready.base_url ?? '', /^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
  const file = join(other.directory, 'data/client.json')
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
    base_url: ready.base_url,
    api_key: ready.api_key,
  })
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(existsSync(join(other.directory, '.config/runyard/client.json')))
  assert.equal((await other.run(['list'])).code, 0)
  assert.equal((await signIn(ready.sign_in_url ?? '')).status, 200)
  assert.equal((await signIn(ready.sign_in_url ?? '')).status, 401, 'it works once')
  const opened = await other.run(['open'])
  assert.equal((await signIn(opened.stdout.trim())).status, 200)
  const unknown = await other.run(['open', '01980000-0000-7000-8000-000000000001'])
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /no run with this id/)

  const second = await other.run(['dev', '--port', '0', '--data-dir', 'data', '--json'])
  assert.equal(second.code, 1)
  assert.equal(second.stdout, '')
  assert.match(second.stderr, /error: Another runyard process uses the data directory .*--data-dir/)
  const { port } = new URL(ready.base_url ?? '')
  const taken = await other.run(['dev', '--port', port, '--data-dir', 'more', '--json'])
  assert.equal(taken.code, 1)
  assert.match(taken.stderr, new RegExp(`error: Port ${port} is taken`))

  first.kill('SIGTERM')
  const ended = await first.ended
  assert.deepEqual([ended.code, ended.stdout], [0, line])
  const user_file = join(other.directory, '.config/runyard/client.json')
  assert.ok(!existsSync(user_file), 'it leads nowhere now')
})

test('keys are managed beside the running service, and at the database without one', LIMIT, async () => {
  const first = other.spawn(['dev', '--port', '0', '--data-dir', 'data', '--json'])
  await printedBy(first, /\n/)
  const keys = (...args: string[]) => other.run(['keys', ...args, '--data-dir', 'data', '--json'])
  const create = ['create', '--name', 'ci', '--role', 'viewer']
  const beside = JSON.parse((await keys(...create)).stdout) as NewKey
  const as_viewer = { environment: { RUNYARD_API_KEY: beside.api_key } }
  assert.equal((await other.run(['list'], as_viewer)).code, 0)
  const listed = (await keys('list')).stdout.trim().split('\n')
  assert.deepEqual(
    listed.map((line) => JSON.parse(line).name),
    ['dev', 'ci'],
  )
  assert.match(
    (await other.run(['keys', 'list', '--data-dir', 'data'])).stdout,
    /ci +viewer .*(just now|\d+s ago) +active/,
  )
  const rotated = JSON.parse((await keys('rotate', beside.key_id, '--grace', '1h')).stdout) as NewKey
  const more = JSON.parse(
    (await keys('create', '--name', 'laptop', '--principal', beside.principal_id)).stdout,
  ) as NewKey
  assert.deepEqual([rotated.principal_id, more.principal_id], [beside.principal_id, beside.principal_id])
  assert.equal((await other.run(['list'], as_viewer)).code, 0)
  const table = (await other.run(['keys', 'list', '--data-dir', 'data'])).stdout
  assert.match(table, new RegExp(`ci +viewer +${beside.principal_id} .* active until 20`))
  assert.match(table, new RegExp(`laptop +member +${beside.principal_id} .* active`))
  const nobody = await keys('create', '--name', 'x', '--principal', rotated.key_id)
  assert.equal(nobody.code, 1)
  assert.match(nobody.stderr, /There is no principal [\s\S]*keys list/)
  assert.equal((await keys('rotate', beside.key_id, '--grace', 'soon')).code, 2)
  assert.equal((await keys('rotate', beside.principal_id)).code, 1)
  assert.equal((await keys('revoke', beside.key_id)).code, 0)
  assert.equal((await keys('revoke', beside.key_id)).code, 1)
  assert.equal((await other.run(['list'], as_viewer)).code, 1)

  first.kill('SIGTERM')
  await first.ended
  // At the database itself, one after the other when they come at once.
  const offline = await Promise.all([keys(...create), keys(...create)])
  for (const { stdout, stderr } of offline) assert.match(stdout, /"ry_[A-Za-z0-9]{46}"/, stderr)
  const offline_rotated = await keys('rotate', rotated.key_id)
  assert.equal(JSON.parse(offline_rotated.stdout).principal_id, beside.principal_id)
})

test("personal runs stay their user's when the key of dev is not good any more", LIMIT, async () => {
  const start = async () => {
    const child = other.spawn(['dev', '--port', '0', '--data-dir', 'data', '--json', '--no-user-config'])
    const { base_url, api_key } = JSON.parse(await printedBy(child, /\n/)) as Record<string, string>
    const call = async (method: string, path: string, body?: object, key = api_key) =>
      fetch(base_url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
    const stop = async () => {
      child.kill('SIGTERM')
      await child.ended
    }
    return { api_key, call, stop }
  }
  const first = await start()
  const created = await first.call('POST', '/agent/runs', { prompt: 'Mine.', team: false })
  const path = `/agent/runs/${((await created.json()) as { run_id: string }).run_id}`
  const listed = await other.run(['keys', 'list', '--data-dir', 'data', '--json'])
  const { key_id } = JSON.parse(listed.stdout) as NewKey
  assert.equal((await other.run(['keys', 'revoke', key_id, '--data-dir', 'data'])).code, 0)
  await first.stop()

  const second = await start()
  assert.notEqual(second.api_key, first.api_key)
  assert.equal((await second.call('GET', path)).status, 200)
  assert.equal((await second.call('GET', path, undefined, first.api_key)).status, 401)
  await second.stop()
})

test("a user's own connection stays, and the next start has the same key", LIMIT, async () => {
  const user_file = join(other.directory, '.config/runyard/client.json')
  const first = other.spawn(['dev', '--port', '0', '--data-dir', 'data', '--json'])
  const ready = JSON.parse(await printedBy(first, /\n/)) as Record<string, string>
  const second = other.spawn(['dev', '--port', '0', '--data-dir', 'more'])
  const second_banner = await printedBy(second, /curl [\s\S]*-d /)
  assert.match(second_banner, /client\.json is of another runyard dev that runs, and was left alone/)
  assert.equal(JSON.parse(readFileSync(user_file, 'utf8')).base_url, ready.base_url)
  first.kill('SIGTERM')
  second.kill('SIGTERM')
  await Promise.all([first.ended, second.ended])

  const remote = '{"base_url": "https://own.test", "api_key": "own"}'
  writeFileSync(user_file, remote, { mode: 0o600 })
  const restarted = other.spawn(['dev', '--port', '0', '--data-dir', 'data'])
  const banner = await printedBy(restarted, /curl [\s\S]*-d /)
  assert.match(banner, /\.config\/runyard\/client\.json is not of runyard dev and was left alone/)
  assert.match(banner, /Database .*a power cut may lose the last writes: PGlite does not fsync/)
  const file = join(other.directory, 'data/client.json')
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).api_key, ready.api_key)
  restarted.kill('SIGINT')
  assert.equal((await restarted.ended).code, 0)
  assert.equal(readFileSync(user_file, 'utf8'), remote)
})

test(
  'a user without a home of their own has dev all the same, and it ends when it is told to',
  LIMIT,
  async () => {
    writeFileSync(join(other.directory, 'file'), '')
    const dev = other.spawn(['dev', '--port', '0'], {
      HOME: join(other.directory, 'file'),
      XDG_CONFIG_HOME: '',
    })
    const banner = await printedBy(dev, /Models/)
    assert.match(banner, /file\/\.config\/runyard\/client\.json cannot be written/)
    assert.doesNotMatch(banner, /Internal error/)
    dev.kill('SIGTERM')
    assert.equal((await dev.ended).code, 0)
  },
)

test('a key that cannot be stored ends dev', LIMIT, async () => {
  const first = other.spawn(['dev', '--port', '0', '--json'])
  await printedBy(first, /\n/)
  first.kill('SIGTERM')
  await first.ended
  const file = join(other.directory, '.runyard', 'client.json')
  rmSync(file)
  mkdirSync(join(file, 'inside'), { recursive: true })
  const { code, stderr } = await other.run(['dev', '--port', '0'])
  assert.equal(code, 1)
  assert.match(stderr, /client\.json/)
})
