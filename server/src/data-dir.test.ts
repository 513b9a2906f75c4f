import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { explainDataDir, lockDataDir, prepareDataDir, readSecretKey } from './data-dir.ts'
import { SandboxFault } from './sandbox/sandbox.ts'

const directory = () => mkdtempSync(join(tmpdir(), 'runyard-data-dir-'))
const MODULE = new URL('./data-dir.ts', import.meta.url).href

test('a second holder is refused, and admitted once the first lets go', () => {
  const data_dir = directory()
  const lock = lockDataDir(data_dir)
  assert.throws(() => lockDataDir(data_dir), /Another runyard process uses the data directory/)
  lock.release()
  lockDataDir(data_dir).release()
})

test('the lock goes with its process, killed or not', async () => {
  const data_dir = directory()
  const code = `const { lockDataDir } = await import(${JSON.stringify(MODULE)});
    globalThis.lock = lockDataDir(${JSON.stringify(data_dir)}); console.log('locked'); setInterval(() => {}, 1000)`
  const holder = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(holder.stdout, 'data')
  assert.throws(() => lockDataDir(data_dir), /Another runyard process/)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  lockDataDir(data_dir).release()
})

test('nothing of it is added to the git checkout that it lies in', () => {
  const checkout = directory()
  const git = (...args: string[]) => execFileSync('git', ['-C', checkout, ...args], { encoding: 'utf8' })
  git('init', '--quiet')
  const data_dir = join(checkout, '.runyard')
  for (const _start of ['first', 'second']) prepareDataDir(data_dir)
  readSecretKey(data_dir, undefined)
  git('add', '--all')
  assert.equal(git('status', '--porcelain'), '')
})

test('the secret key is made once, for its owner only, unless one is configured', () => {
  const data_dir = directory()
  const key = readSecretKey(data_dir, undefined)
  assert(key.length >= 32)
  assert.equal(readSecretKey(data_dir, undefined), key)
  assert.equal(statSync(join(data_dir, 'secret-key')).mode & 0o777, 0o600)
  assert.equal(readSecretKey(data_dir, 'configured'), 'configured')
})

test('the secret key is never an empty one, and nothing is left beside it', () => {
  const data_dir = directory()
  readSecretKey(data_dir, undefined)
  assert.deepEqual(readdirSync(data_dir), ['.gitignore', 'secret-key'])
  writeFileSync(join(data_dir, 'secret-key'), '')
  assert.throws(() => readSecretKey(data_dir, undefined), /has an empty file secret-key/)
})

test('what the disk refuses is said of the data directory, and nothing else is', () => {
  const data_dir = directory()
  const refused = (code: string, more: object = {}) =>
    Object.assign(new Error(code), { code, syscall: 'open', ...more })
  const said = (error: unknown) => {
    const explained = explainDataDir(error, data_dir)
    return explained === error ? null : String(explained)
  }
  assert.match(
    said(refused('ENOSPC', { syscall: 'write' })) ?? '',
    new RegExp(`${data_dir} is on a full disk`),
  )
  const path = join(data_dir, 'blobs')
  assert.match(said(refused('EACCES', { path })) ?? '', /cannot be written by this user/)
  const fault = new SandboxFault('no sandbox works here', { cause: refused('EROFS', { path }) })
  assert.match(said(fault) ?? '', /read-only/)
  assert.equal(said(refused('ENOSPC', { path: `${data_dir}-of-another` })), null)
  assert.equal(said(refused('ENOENT', { path: '/run/docker.sock' })), null)
  assert.equal(said(refused('ENOENT', { syscall: 'connect', address: '/run/postgresql' })), null)
  assert.equal(said(new Error('something else')), null)
})
