import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockDataDir, readSecretKey } from './data-dir.ts'

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

test('the secret key is made once, for its owner only, unless one is configured', () => {
  const data_dir = directory()
  const key = readSecretKey(data_dir, undefined)
  assert(key.length >= 32)
  assert.equal(readSecretKey(data_dir, undefined), key)
  assert.equal(statSync(join(data_dir, 'secret-key')).mode & 0o777, 0o600)
  assert.equal(readSecretKey(data_dir, 'configured'), 'configured')
})
