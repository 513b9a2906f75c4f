import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { onlyLong } from '../server/test/support/once.ts'
import { SHARED_CACHE } from '../server/test/support/service.ts'

/** The caches are those of all tests: filling its own takes the demo longer than the rest of it, and the test of the README does. */
function environmentAt(home: string): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  return { PATH, HOME: home, ...SHARED_CACHE, ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}) }
}

// That it works the test of the README shows, where everything is new.
onlyLong(
  'the demo leaves nothing behind for the commands of the person who runs it',
  {
    timeout: 600_000,
  },
  async (t) => {
    // Of a git worktree the repository lies elsewhere, and the demo brings its own repository into a sandbox.
    if (statSync(new URL('../.git', import.meta.url)).isFile()) return t.skip('this is a git worktree')
    const home = mkdtempSync(join(tmpdir(), 'runyard-demo-home-'))
    t.after(() => rmSync(home, { recursive: true }))
    const child = spawn(process.execPath, [fileURLToPath(new URL('demo.ts', import.meta.url))], {
      env: environmentAt(home),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exited = new Promise((resolve) => child.once('close', resolve))
    const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /failed before and pass now\.\n/)
    assert.match(stdout, /✓ Done in /)
    assert.deepEqual(readdirSync(home), [])
  },
)

test('a demo that is stopped takes its commands along', { timeout: 120_000 }, async (t) => {
  if (statSync(new URL('../.git', import.meta.url)).isFile()) return t.skip('this is a git worktree')
  const home = mkdtempSync(join(tmpdir(), 'runyard-demo-home-'))
  t.after(() => rmSync(home, { recursive: true }))
  const child = spawn(process.execPath, [fileURLToPath(new URL('demo.ts', import.meta.url))], {
    env: environmentAt(home),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (piece) => {
    const began = printed.includes('· QUEUED')
    printed += piece
    if (!began && printed.includes('· QUEUED')) child.kill('SIGINT')
  })
  // Only when nobody holds its output any more.
  const [code] = await once(child, 'close')
  assert.equal(code, 1, printed)
})
