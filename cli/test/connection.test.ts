import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import {
  type Connection,
  findConnection,
  forgetConnection,
  readStoredKey,
  type SavePlace,
  saveConnection,
} from '../src/connection.ts'
import { CommandFailure, EXIT } from '../src/failure.ts'

const NEAR = { base_url: 'http://127.0.0.1:4201/api/v1', api_key: 'near' }
const OWN = { base_url: 'https://own.test/api/v1', api_key: 'own' }
let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'runyard-connection-'))
})
afterEach(() => rmSync(root, { recursive: true }))

const find = (flags: Partial<Connection> = {}, environment: NodeJS.ProcessEnv = {}) =>
  findConnection({
    flags,
    environment: { HOME: root, ...environment },
    directory: join(root, 'project/deep/below'),
  })

function write(folder: string, connection: Connection, mode = 0o600): void {
  mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, folder, 'client.json'), JSON.stringify(connection), { mode })
  chmodSync(join(root, folder, 'client.json'), mode)
}
const writeNear = (connection: Connection = NEAR, mode?: number) =>
  write('project/.runyard', connection, mode)
const writeOwn = () => write('.config/runyard', OWN)

test('flags come before the environment, the nearest file before the one of the user', () => {
  writeNear()
  writeOwn()
  const environment = { RUNYARD_BASE_URL: 'http://env.test', RUNYARD_API_KEY: 'env' }
  assert.deepEqual(find({ base_url: 'http://flag.test', api_key: 'flag' }, environment), {
    base_url: 'http://flag.test',
    api_key: 'flag',
  })
  assert.deepEqual(find({ api_key: 'flag' }, environment), { base_url: 'http://env.test', api_key: 'flag' })
  assert.deepEqual(find(), NEAR)
  rmSync(join(root, 'project'), { recursive: true })
  assert.deepEqual(find(), OWN)
})

test('a stored key goes to its own address only', () => {
  writeNear()
  assert.deepEqual(find({ base_url: 'http://127.0.0.1:4201' }), {
    ...NEAR,
    base_url: 'http://127.0.0.1:4201',
  })
  assert.throws(
    () => find({}, { RUNYARD_BASE_URL: 'https://elsewhere.test' }),
    (error) => {
      assert.ok(error instanceof CommandFailure)
      assert.match(error.message, /No API key is known for https:\/\/elsewhere\.test/)
      return true
    },
  )
})

test('a file of a project cannot send the key of the environment elsewhere', () => {
  writeNear({ base_url: 'https://evil.test', api_key: 'x' })
  assert.deepEqual(find({}, { RUNYARD_API_KEY: 'secret' }), {
    base_url: 'http://127.0.0.1:4200',
    api_key: 'secret',
  })
  writeNear()
  assert.deepEqual(find({}, { RUNYARD_API_KEY: 'secret' }), { base_url: NEAR.base_url, api_key: 'secret' })
  rmSync(join(root, 'project'), { recursive: true })
  writeOwn()
  assert.deepEqual(find({}, { RUNYARD_API_KEY: 'secret' }), { base_url: OWN.base_url, api_key: 'secret' })
})

test('a file that others can read, as one of a cloned repository, is not used', () => {
  writeNear(NEAR, 0o644)
  writeOwn()
  assert.deepEqual(find(), OWN)
})

test('nothing known: exit code 4 and what to do', () => {
  assert.throws(
    () => find(),
    (error) => {
      assert.ok(error instanceof CommandFailure)
      assert.equal(error.exit_code, EXIT.unreachable)
      assert.match(error.hint ?? '', /runyard dev/)
      return true
    },
  )
})

const save = (connection: Connection, data_dir: string, more: Partial<SavePlace> = {}) =>
  saveConnection(connection, {
    data_dir,
    environment: { HOME: root },
    for_user: true,
    isServed: async () => false,
    ...more,
  })
const own = () => join(root, '.config/runyard/client.json')

test('a saved connection is private, replaced as a whole, and found in both places', async () => {
  const data_dir = join(root, 'project/.runyard')
  await save(OWN, data_dir)
  const { file, fate } = await save(NEAR, data_dir)
  assert.equal(fate, 'written')
  for (const each of [file, own()]) assert.equal(statSync(each).mode & 0o777, 0o600)
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), NEAR)
  assert.equal(readStoredKey(data_dir), 'near')
  assert.deepEqual(find(), NEAR)
  rmSync(join(root, 'project'), { recursive: true })
  assert.deepEqual(find(), NEAR)
})

test("a user's own file stays, whatever it holds", async () => {
  writeOwn()
  for (const content of [readFileSync(own(), 'utf8'), 'not JSON', '', '{"data_dir": 1}', '[]', 'null']) {
    writeFileSync(own(), content)
    const { file, fate } = await save(NEAR, join(root, 'project/.runyard'))
    assert.equal(fate, 'foreign')
    assert.equal(readFileSync(own(), 'utf8'), content)
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), NEAR)
    forgetConnection(join(root, 'project/.runyard'), { HOME: root })
    assert.equal(readFileSync(own(), 'utf8'), content)
  }
  assert.deepEqual(readdirSync(join(root, '.config/runyard')), ['client.json'])
})

test('of two devs the first that runs keeps the file; one that has ended gives way', async () => {
  const [first, second] = [join(root, 'project/.runyard'), join(root, 'other/.runyard')]
  await save(NEAR, first)
  const asked: string[] = []
  const isServed = async (data_dir: string) => asked.push(data_dir) > 0
  assert.equal((await save(OWN, second, { isServed })).fate, 'of another dev')
  assert.deepEqual(asked, [first])
  assert.equal(JSON.parse(readFileSync(own(), 'utf8')).api_key, 'near')
  forgetConnection(second, { HOME: root })
  assert.ok(existsSync(own()))
  assert.equal((await save(OWN, second)).fate, 'written')
  assert.equal(JSON.parse(readFileSync(own(), 'utf8')).api_key, 'own')
  forgetConnection(second, { HOME: root })
  assert.ok(!existsSync(own()))
})

test('where it is not wanted, nothing is written for the user', async () => {
  assert.equal((await save(NEAR, join(root, 'project/.runyard'), { for_user: false })).fate, 'unwanted')
  assert.ok(!existsSync(join(root, '.config')))
})

test('a key from the environment goes to the server of the login that RUNYARD_PROFILE names', () => {
  const folder = join(root, '.config/runyard')
  mkdirSync(folder, { recursive: true })
  const profiles = Object.fromEntries(
    ['a', 'b'].map((name) => [name, { base_url: `https://${name}.test/api/v1`, api_key: name }]),
  )
  writeFileSync(join(folder, 'logins.json'), JSON.stringify({ current: 'a', profiles }), { mode: 0o600 })
  const environment = { RUNYARD_PROFILE: 'b', RUNYARD_API_KEY: 'given' }
  assert.deepEqual(find({}, environment), { base_url: 'https://b.test/api/v1', api_key: 'given' })
})
