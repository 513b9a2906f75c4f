/** The same probes with the service and its sandboxes under an ordinary user: this file starts itself again as one. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
}
