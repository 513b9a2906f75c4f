import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setupPython } from './setup-python.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const PROGRAM = `import { basePython } from './scripts/setup-python.ts'
console.log(JSON.stringify(basePython()))`

test('no Python of .venv makes .venv again, even if it comes first on the PATH', (t) => {
  const made = setupPython()
  if ('missing' in made) return t.skip(made.missing)
  const own = dirname(made.python)
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${own}:${process.env.PATH}` },
  })
  const { python = '' } = JSON.parse(stdout || '{}') as { python?: string }
  assert.match(python, /^\//, stderr)
  assert(!python.startsWith(own), python)
})
