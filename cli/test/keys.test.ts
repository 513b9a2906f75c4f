import assert from 'node:assert/strict'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Home } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const server = new Home()
/** Another machine: it has neither a database nor a data directory. */
const away = new Home()
let connection = { base_url: '', api_key: '' }

before(async () => {
  connection = await server.serve({ data_dir: join(server.directory, '.runyard') })
  // Where `dev` has its database.
  mkdirSync(join(server.directory, '.runyard', 'db'), { recursive: true })
}, LIMIT)
after(async () => {
  await away.remove()
  await server.remove()
}, LIMIT)

const there = (api_key = connection.api_key) => ({
  environment: { RUNYARD_BASE_URL: connection.base_url, RUNYARD_API_KEY: api_key },
})

interface Made {
  api_key: string
  key_id: string
  principal_id: string
}

test('keys of a server elsewhere are made, listed, rotated and revoked', LIMIT, async () => {
  const remote = async (...args: string[]): Promise<Made[]> => {
    const { code, stdout, stderr } = await away.run(['keys', ...args, '--json'], there())
    assert.equal(code, 0, stderr)
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Made)
  }
  const reads = async (key: Made | undefined): Promise<boolean> =>
    (await away.run(['list'], there(key?.api_key))).code === 0
  const [made] = await remote('create', '--name', 'ci', '--role', 'viewer')
  assert.ok(made && (await reads(made)))
  const [more] = await remote('create', '--name', 'ci-2', '--principal', made.principal_id)
  assert.equal(more?.principal_id, made.principal_id)
  const [graced] = await remote('rotate', made.key_id, '--grace', '1h')
  assert.deepEqual(
    [await reads(made), await reads(graced), graced?.principal_id],
    [true, true, made.principal_id],
  )
  const [next] = await remote('rotate', graced?.key_id ?? '')
  assert.deepEqual([await reads(graced), await reads(next)], [false, true])
  assert.deepEqual(await remote('revoke', more.key_id), [{ key_id: more.key_id, revoked: true }])
  assert.equal(await reads(more), false)

  // The same as the machine itself says of them.
  const here = await server.run(['keys', 'list', '--json'])
  const lines = here.stdout.trim().split('\n')
  const timeless = (key: object) => ({ ...key, last_used_at: null })
  assert.deepEqual(
    (await remote('list')).map(timeless),
    lines.map((line) => timeless(JSON.parse(line) as object)),
  )
  const table = await away.run(['keys', 'list'], there())
  assert.match(table.stdout, new RegExp(`\n${more.key_id} +ci-2 +member +${made.principal_id} .* revoked\n`))
  assert.ok(!existsSync(join(away.directory, '.runyard')), 'No database is made on the way.')
})

test('what the server refuses is said, and the last admin key stays', LIMIT, async () => {
  const unknown = await away.run(['keys', 'revoke', 'nobody'], there())
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^error: There is no /)
  const keys = (await away.run(['keys', 'list', '--json'], there())).stdout.trim().split('\n')
  const admin = keys
    .map((line) => JSON.parse(line) as Made & { role: string })
    .find(({ role }) => role === 'admin')
  const last = await away.run(['keys', 'revoke', admin?.key_id ?? ''], there())
  assert.equal(last.code, 1)
  assert.match(last.stderr, /^error: This is the last admin key that works\./)
})

test('what is named first says where the keys are', LIMIT, async () => {
  const flags = ['--base-url', connection.base_url, '--api-key', connection.api_key]
  const listed = await away.run(['keys', 'list', '--json', ...flags])
  assert.equal(listed.code, 0, listed.stderr)
  const both = await away.run(['keys', 'list', '--data-dir', 'data', ...flags])
  assert.deepEqual(
    [both.code, both.stderr.split('\n')[0]],
    [2, 'error: Give --data-dir, or where a server is, not both.'],
  )
  // The data directory of this place is one that `dev` may be stopped on.
  const own = await server.run(['keys', 'list', '--json'], { environment: {} })
  assert.equal(own.stdout.split('\n').length, listed.stdout.split('\n').length)
  // Below it, where there is none, the connection is found as by every other command.
  const below = join(server.directory, 'below')
  mkdirSync(below)
  const found = await server.run(['keys', 'list', '--json'], { directory: below })
  assert.equal(found.stdout.split('\n').length, listed.stdout.split('\n').length)
  assert.ok(!existsSync(join(below, '.runyard')))
})
