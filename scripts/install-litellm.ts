import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installOnce } from './install-once.ts'
import { basePython } from './setup-python.ts'

const folder = fileURLToPath(new URL('../test/tools/', import.meta.url))
const requirements = `${folder}litellm.txt`
const venv = `${folder}.venv`

/** LiteLLM's proxy (750 MB, some minutes), in an environment of its own; done again only when its version has changed. `false` when it failed. */
export const installLitellm = (): boolean =>
  installOnce({ wanted: requirements, stamp: `${venv}/runyard-stamp` }, () => {
    const base = basePython()
    if ('missing' in base) return false
    console.log('Installing LiteLLM …')
    const steps = [
      [base.python, '-m', 'venv', '--clear', venv],
      [`${venv}/bin/python`, '-m', 'pip', '--disable-pip-version-check', '-q', 'install', '-r', requirements],
    ]
    return steps.every(
      ([command = '', ...args]) => spawnSync(command, args, { stdio: 'inherit' }).status === 0,
    )
  })
