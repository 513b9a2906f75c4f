import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Child, Home, printedBy } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
interface NewKey {
  api_key: string
  key_id: string
  principal_id: string
}
interface Ready {
  base_url: string
  api_key: string
  web_url: string
  sign_in_url: string
}
/** One home and one data directory: each start costs seconds, so the tests are one story of a few of them. */
const other = new Home()
const user_file = join(other.directory, '.config/runyard/client.json')
const start = (...args: string[]): Child => other.spawn(['dev', '--port', '0', ...args])
const keys = (...args: string[]) => other.run(['keys', ...args, '--data-dir', 'data', '--json'])
const create = ['create', '--name', 'ci', '--role', 'viewer']
const call = (method: string, path: string, { base_url, api_key }: Ready, body?: object): Promise<Response> =>
  fetch(base_url + path, {
    method,
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
let first: Child
let line: string
let ready: Ready
let rotated: NewKey
/** Where the personal run of the first key is. */
let mine: string

/** What the page does with a link. */
const signIn = (link: string): Promise<Response> => {
  const { origin, hash } = new URL(link)
  const token = new URLSearchParams(hash.slice(1)).get('token')
  return fetch(`${origin}/web/session`, {
    method: 'POST',
    headers: { origin, 'x-runyard-page': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ token, confirm: true }),
  })
}
after(() => other.remove(), LIMIT)

test('one line of JSON, a private file, and one per data directory', LIMIT, async () => {
  first = start('--data-dir', 'data', '--json')
  line = await printedBy(first, /\n/)
  ready = JSON.parse(line) as Ready
  assert.deepEqual(Object.keys(ready), [
    'base_url',
    'api_key',
    'web_url',
    'sign_in_url',
    'sandbox',
    'database',
  ])
  assert.match(ready.base_url, /^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
  const file = join(other.directory, 'data/client.json')
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
    base_url: ready.base_url,
    api_key: ready.api_key,
  })
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.ok(existsSync(user_file))
  assert.equal((await other.run(['list'])).code, 0)
  assert.equal((await signIn(ready.sign_in_url)).status, 200)
  assert.equal((await signIn(ready.sign_in_url)).status, 401, 'it works once')
  const opened = await other.run(['open'])
  assert.equal((await signIn(opened.stdout.trim())).status, 200)
  const unknown = await other.run(['open', '01980000-0000-7000-8000-000000000001'])
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /no run with this id/)

  const second = await other.runProcess(['dev', '--port', '0', '--data-dir', 'data', '--json'])
  assert.equal(second.code, 1)
  assert.equal(second.stdout, '')
  assert.match(second.stderr, /error: Another runyard process uses the data directory .*--data-dir/)
  const { port } = new URL(ready.base_url)
  const taken = await other.runProcess(['dev', '--port', port, '--data-dir', 'more', '--json'])
  assert.equal(taken.code, 1)
  assert.match(taken.stderr, new RegExp(`error: Port ${port} is taken`))
})

test('keys are managed beside the running service', LIMIT, async () => {
  const beside = JSON.parse((await keys(...create)).stdout) as NewKey
  const as_viewer = { environment: { RUNYARD_API_KEY: beside.api_key } }
  assert.equal((await other.run(['list'], as_viewer)).code, 0)
  const listed = (await keys('list')).stdout.trim().split('\n')
  assert.deepEqual(
    listed.map((line) => JSON.parse(line).name),
    ['dev', 'ci'],
  )
  rotated = JSON.parse((await keys('rotate', beside.key_id, '--grace', '1h')).stdout) as NewKey
  const more = JSON.parse(
    (await keys('create', '--name', 'laptop', '--principal', beside.principal_id)).stdout,
  ) as NewKey
  assert.deepEqual([rotated.principal_id, more.principal_id], [beside.principal_id, beside.principal_id])
  assert.equal((await other.run(['list'], as_viewer)).code, 0)
  const table = (await other.run(['keys', 'list', '--data-dir', 'data'])).stdout
  assert.match(
    table,
    new RegExp(`ci +viewer +${beside.principal_id} .*(just now|\\d+s ago) +active until 20`),
  )
  assert.match(table, new RegExp(`laptop +member +${beside.principal_id} .* active`))
  const nobody = await keys('create', '--name', 'x', '--principal', rotated.key_id)
  assert.equal(nobody.code, 1)
  assert.match(nobody.stderr, /There is no principal [\s\S]*keys list/)
  assert.equal((await keys('rotate', beside.key_id, '--grace', 'soon')).code, 2)
  assert.equal((await keys('rotate', beside.principal_id)).code, 1)
  assert.equal((await keys('revoke', beside.key_id)).code, 0)
  assert.equal((await keys('revoke', beside.key_id)).code, 1)
  assert.equal((await other.run(['list'], as_viewer)).code, 1)
})

test("another dev leaves the first one's connection alone, and both end cleanly", LIMIT, async () => {
  const created = await call('POST', '/agent/runs', ready, { prompt: 'Mine.', team: false })
  mine = `/agent/runs/${((await created.json()) as { run_id: string }).run_id}`
  const second = start('--data-dir', 'more')
  const banner = await printedBy(second, /curl [\s\S]*-d /)
  assert.match(banner, /client\.json is of another runyard dev that runs, and was left alone/)
  assert.equal(JSON.parse(readFileSync(user_file, 'utf8')).base_url, ready.base_url)
  first.kill('SIGTERM')
  second.kill('SIGTERM')
  const [ended] = await Promise.all([first.ended, second.ended])
  assert.deepEqual([ended.code, ended.stdout], [0, line])
  assert.ok(!existsSync(user_file), 'it leads nowhere now')
})

test('keys are managed at the database without a service', LIMIT, async () => {
  // One after the other when they come at once.
  const apart = () => other.runProcess(['keys', ...create, '--data-dir', 'data', '--json'])
  const offline = await Promise.all([apart(), apart()])
  for (const { stdout, stderr } of offline) assert.match(stdout, /"ry_[A-Za-z0-9]{46}"/, stderr)
  const offline_rotated = await keys('rotate', rotated.key_id)
  assert.equal(JSON.parse(offline_rotated.stdout).principal_id, rotated.principal_id)
})

test("a user's own connection stays, and the next start has the same key", LIMIT, async () => {
  const remote = '{"base_url": "https://own.test", "api_key": "own"}'
  writeFileSync(user_file, remote, { mode: 0o600 })
  const restarted = start('--data-dir', 'data')
  const banner = await printedBy(restarted, /curl [\s\S]*-d /)
  assert.match(banner, /\.config\/runyard\/client\.json is not of runyard dev and was left alone/)
  assert.match(banner, /Database .*a power cut may lose the last writes: PGlite does not fsync/)
  const file = join(other.directory, 'data/client.json')
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).api_key, ready.api_key)
  // For the next test.
  const [listed = ''] = (await keys('list')).stdout.split('\n')
  const { key_id, name } = JSON.parse(listed) as NewKey & { name: string }
  assert.equal(name, 'dev')
  assert.equal((await keys('revoke', key_id)).code, 0)
  restarted.kill('SIGINT')
  assert.equal((await restarted.ended).code, 0)
  assert.equal(readFileSync(user_file, 'utf8'), remote)
})

test("personal runs stay their user's when the key of dev is not good any more", LIMIT, async () => {
  const child = start('--data-dir', 'data', '--json', '--no-user-config')
  const anew = JSON.parse(await printedBy(child, /\n/)) as Ready
  assert.notEqual(anew.api_key, ready.api_key)
  assert.equal((await call('GET', mine, anew)).status, 200)
  assert.equal((await call('GET', mine, { ...anew, api_key: ready.api_key })).status, 401)
  child.kill('SIGTERM')
  await child.ended
})

test('a key that cannot be stored ends dev', LIMIT, async () => {
  const file = join(other.directory, 'data', 'client.json')
  rmSync(file)
  mkdirSync(join(file, 'inside'), { recursive: true })
  const { code, stderr } = await other.runProcess(['dev', '--port', '0', '--data-dir', 'data'])
  assert.equal(code, 1)
  assert.match(stderr, /client\.json/)
})

test(
  'a user without a home of their own has dev all the same, and it ends when it is told to',
  LIMIT,
  async () => {
    writeFileSync(join(other.directory, 'file'), '')
    const dev = other.spawn(['dev', '--port', '0'], {
      environment: { HOME: join(other.directory, 'file'), XDG_CONFIG_HOME: '' },
    })
    const banner = await printedBy(dev, /Models/)
    assert.match(banner, /file\/\.config\/runyard\/client\.json cannot be written/)
    assert.doesNotMatch(banner, /Internal error/)
    dev.kill('SIGTERM')
    assert.equal((await dev.ended).code, 0)
  },
)

test('without a sandbox it says where to learn what is missing', LIMIT, async () => {
  const environment = { RUNYARD_SANDBOX: 'docker', DOCKER_HOST: 'unix:///nowhere.sock' }
  const { code, stderr } = await other.runProcess(['dev', '--port', '0', '--data-dir', 'none'], {
    environment,
  })
  assert.equal(code, 1)
  assert.match(stderr, /no Docker engine answers.*hint: `runyard doctor`/s)
})
