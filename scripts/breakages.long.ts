/** Some of the deliberate breakages of `test/breakages` each time: that all are still seen takes an hour (`npm run test:breakages`). */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const TOOL = fileURLToPath(new URL('breakages.ts', import.meta.url))

test('the tests see five breakages, chosen at random', { timeout: 3_600_000 }, (t) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [TOOL, '--sample', '5'], {
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
  })
  t.diagnostic(stdout)
  assert.equal(status, 0, stdout + stderr)
})
