import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { AppError } from './contract/error.ts'
import { isUnserved, type Keys, reachKeys, serveKeys } from './control.ts'

const LIMIT = { timeout: 30_000 }
const NOW = new Date('2026-01-01T00:00:00Z')
const KEY = {
  key_id: 'k1',
  principal_id: 'p1',
  principal_type: 'user' as const,
  active: true,
  principal_name: 'ci',
  name: 'ci',
  role: 'viewer' as const,
  pool: null,
  masked: 'ry_…',
  created_at: NOW,
  expires_at: null,
  grace_until: NOW,
  replaces: null,
  last_used_at: NOW,
  revoked_at: null,
}
const keys: Keys = {
  create: async ({ name, role, principal_id = 'new' }) =>
    principal_id === 'gone' ? null : { api_key: `key of ${name}`, key_id: role, principal_id },
  rotate: async (key_id, grace_ms) =>
    key_id === 'k1' ? { api_key: `key for ${grace_ms} ms`, key_id: 'k2', principal_id: 'p1' } : null,
  list: async () => [KEY],
  revoke: async (key_id) => {
    if (key_id === 'broken') throw new AppError('invalid_request', 'It is broken.')
    return key_id === 'k1'
  },
}
let root = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'runyard-control-'))
})
const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  rmSync(root, { recursive: true, force: true })
})
const serve = async (data_dir: string): Promise<void> => void closers.push(await serveKeys(data_dir, keys))

test('what is asked is done in the other process, and faults come back as they were', LIMIT, async () => {
  await serve(root)
  const far = reachKeys(root)
  const asked = { name: 'a', role: 'admin' } as const
  const made = { api_key: 'key of a', key_id: 'admin' }
  assert.deepEqual(await far.create(asked), { ...made, principal_id: 'new' })
  assert.deepEqual(await far.create({ ...asked, principal_id: 'p1' }), { ...made, principal_id: 'p1' })
  assert.equal(await far.create({ ...asked, principal_id: 'gone' }), null)
  assert.deepEqual(await far.rotate('k1', 5), {
    api_key: 'key for 5 ms',
    key_id: 'k2',
    principal_id: 'p1',
  })
  assert.equal(await far.rotate('k2', 0), null)
  assert.deepEqual(await far.list(), [KEY])
  assert.deepEqual([await far.revoke('k1'), await far.revoke('k2')], [true, false])
  await assert.rejects(far.revoke('broken'), { code: 'invalid_request', detail: 'It is broken.' })
  await closers.pop()?.()
  await assert.rejects(far.list(), isUnserved)
  assert.ok(!existsSync(join(root, 'control/control.sock')))
})

test('a long path works, and what a dead process left is replaced', LIMIT, async () => {
  const data_dir = join(root, 'x'.repeat(200), 'y'.repeat(200))
  mkdirSync(join(data_dir, 'control'), { recursive: true, mode: 0o700 })
  const dead = createServer().listen(join(root, 'dead.sock'))
  await new Promise((resolve) => dead.once('listening', resolve))
  // Under another name it outlives its server.
  renameSync(join(root, 'dead.sock'), join(data_dir, 'control/control.sock'))
  await new Promise((resolve) => dead.close(resolve))
  await assert.rejects(reachKeys(data_dir).list(), isUnserved)
  await serve(data_dir)
  assert.equal((await reachKeys(data_dir).list()).length, 1)
})

test('nobody else gets in, also where the directory above is open to all', LIMIT, async (t) => {
  chmodSync(root, 0o777)
  mkdirSync(join(root, 'control'), { mode: 0o777 })
  chmodSync(join(root, 'control'), 0o777)
  await serve(root)
  const socket = join(root, 'control/control.sock')
  assert.deepEqual(
    [statSync(join(root, 'control')).mode & 0o777, statSync(socket).mode & 0o777],
    [0o700, 0o600],
  )
  if (process.getuid?.() === 0) {
    const attempt = `require('net').connect(${JSON.stringify(socket)})
      .on('connect', () => console.log('in')).on('error', (error) => console.log(error.code))`
    const { stdout } = spawnSync(process.execPath, ['-e', attempt], {
      uid: 65534,
      gid: 65534,
      encoding: 'utf8',
    })
    assert.equal(stdout, 'EACCES\n')
  } else t.diagnostic('needs root to try as another user')
})

test('a folder of somebody else, or a link to one, is neither used nor trusted', LIMIT, async (t) => {
  const other = join(root, 'other')
  mkdirSync(other, { mode: 0o700 })
  symlinkSync(other, join(root, 'control'))
  await assert.rejects(serveKeys(root, keys))
  await assert.rejects(reachKeys(root).list())
  rmSync(join(root, 'control'))
  if (process.getuid?.() !== 0) return t.skip('needs root to give a folder away')
  renameSync(other, join(root, 'control'))
  chownSync(join(root, 'control'), 65534, 65534)
  await assert.rejects(serveKeys(root, keys), /not a folder of this user alone/)
  await assert.rejects(reachKeys(root).list(), /not a folder of this user alone.*uid 65534/)
})

test('an order that is none is refused, and the next one served', LIMIT, async () => {
  await serve(root)
  const socket = connect(join(root, 'control/control.sock'))
  socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}')
  const [answer] = await new Promise<Buffer[]>((resolve) => socket.once('data', (chunk) => resolve([chunk])))
  assert.match(String(answer), /"code":"internal_error"/)
  assert.equal((await reachKeys(root).list()).length, 1)
})
