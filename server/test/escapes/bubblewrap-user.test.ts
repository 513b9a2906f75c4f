/** The same probes with the service and its sandboxes under an ordinary user: this file starts itself again as one. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { whyNoBubblewrap } from '../support/machine.ts'

/** Nobody's account. */
const ORDINARY = '54321'

if (process.getuid?.() === 0) {
  const home = mkdtempSync(join(tmpdir(), 'runyard-user-'))
  spawnSync('chown', [ORDINARY, home])
  const identity = [`--reuid=${ORDINARY}`, `--regid=${ORDINARY}`, '--clear-groups', '--inh-caps=-all', '--']
  // What the other one reports goes to the same runner.
  const { status } = spawnSync(
    'setpriv',
    [...identity, process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    { stdio: 'inherit', env: { ...process.env, HOME: home, RUNYARD_ESCAPES_AS_USER: '1' } },
  )
  rmSync(home, { recursive: true, force: true })
  process.exitCode = status ?? 1
} else {
  const { testEscapes } = await import('./escapes.ts')
  testEscapes('bubblewrap-user')
  const { openBubblewrap } = await import('../../src/sandbox/bubblewrap.ts')
  const data_dir = mkdtempSync(join(tmpdir(), 'runyard-weak-'))
  test('started by an ordinary user it says which limits are weak, and why', {
    skip: whyNoBubblewrap(),
  }, async () => {
    const backend = await openBubblewrap({ data_dir, installation_id: 'weak', trial: false })
    assert.equal(backend.capabilities.limits, 'weak')
    assert.match(
      backend.description,
      /weak limits: what the kernel counts by user is shared with the service/,
    )
    assert(backend.weaknesses.some(({ fix }) => fix.startsWith('Start workers as root')))
    rmSync(data_dir, { recursive: true, force: true })
  })
}
