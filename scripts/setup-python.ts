/**
 * The Python toolchain: `.venv` in the root, made by `scripts/setup_python.py` from the first Python 3.10 or newer that can
 * make environments. On Debian a missing Python is installed. Costs one process start when nothing has changed.
 */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const CANDIDATES = [
  'python3',
  'python3.14',
  'python3.13',
  'python3.12',
  'python3.11',
  'python3.10',
  '/usr/bin/python3',
]
// Debian splits `ensurepip` off: without it `venv` is there and fails.
const PROBE =
  'import ensurepip, fcntl, sys, venv; print(sys.executable); sys.exit(sys.version_info < (3, 10))'

export type Python = { python: string } | { missing: string }

/** The interpreter of `.venv`, or in a sentence why there is none. */
export function setupPython(): Python {
  const base = basePython()
  if ('missing' in base) return base
  const made = spawnSync(base.python, ['scripts/setup_python.py'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (made.status !== 0) return { missing: 'The Python toolchain could not be installed; see above.' }
  return { python: made.stdout.trim() }
}

/** A Python of this machine that can make environments. */
export function basePython(): Python {
  const python = findPython() ?? installPython()
  if (python !== null) return { python }
  return { missing: 'No Python 3.10 or newer with venv. On Debian: apt-get install python3 python3-venv' }
}

/** Its full path, since the PATH of whoever starts it may differ. */
function findPython(): string | null {
  // `npm run check` puts this folder first on the PATH. A Python from there would delete itself when it makes `.venv` again.
  const own = resolve(root, '.venv/bin')
  const folders = (process.env.PATH ?? '').split(':').filter((folder) => resolve(folder) !== own)
  const env = { ...process.env, PATH: folders.join(':') }
  for (const name of CANDIDATES) {
    const { status, stdout } = spawnSync(name, ['-c', PROBE], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    if (status === 0) return stdout.trim()
  }
  return null
}

function installPython(): string | null {
  const setup = spawnSync('scripts/setup-debian.sh', ['python'], { cwd: root, stdio: 'inherit' })
  return setup.status === 0 ? findPython() : null
}

if (import.meta.main) {
  const result = setupPython()
  if ('missing' in result) {
    console.error(result.missing)
    process.exit(1)
  }
  console.log(result.python)
}
