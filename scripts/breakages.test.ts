import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

test('every deliberate fault still finds the lines that it breaks', () => {
  const patches = globSync('test/breakages/*.patch', { cwd: root })
  assert(patches.length > 0)
  const stale = patches.filter(
    (patch) => spawnSync('git', ['apply', '--check', patch], { cwd: root, stdio: 'ignore' }).status !== 0,
  )
  assert.deepEqual(stale, [], 'Make these patches anew; `npm run test:breakages NAME` tries one.')
})
