/** The package of the Python library, built with pip alone: the toolchain of `.venv` is for those who work on it. */
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { basePython } from './setup-python.ts'

const project = fileURLToPath(new URL('../python/', import.meta.url))

/** The path of the wheel, or in a sentence why there is none. */
export function packPython(destination: string): { wheel: string } | { missing: string } {
  const base = basePython()
  if ('missing' in base) return base
  const folder = mkdtempSync(join(tmpdir(), 'runyard-pack-'))
  try {
    const built =
      run(base.python, '-m', 'venv', folder) &&
      run(join(folder, 'bin/pip'), 'wheel', '-q', '--no-deps', '--wheel-dir', resolve(destination), project)
    const [wheel] = built ? globSync('runyard-*-py3-none-any.whl', { cwd: destination }) : []
    if (!wheel) return { missing: 'The Python package could not be built; see above.' }
    return { wheel: join(destination, wheel) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Standard output belongs to the paths. */
const run = (command: string, ...args: string[]): boolean =>
  spawnSync(command, args, { stdio: ['ignore', 2, 2] }).status === 0
