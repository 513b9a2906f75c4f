import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installOnce } from './install-once.ts'
import { basePython } from './setup-python.ts'

const folder = fileURLToPath(new URL('../test/tools/', import.meta.url))

/** By the file of its requirements in `test/tools`: where its environment is. */
const TOOLS = {
  /** LiteLLM's proxy: 750 MB, some minutes. */
  litellm: '.venv',
  'model-clients': '.venv-clients',
  /** Makes a client of openapi.json. */
  'openapi-python-client': '.venv-openapi-client',
} as const

/** What others wrote in Python, in an environment of its own; done again only when its versions have changed. `false` when it failed. */
export function installPythonTool(name: keyof typeof TOOLS): boolean {
  const requirements = `${folder}${name}.txt`
  const venv = `${folder}${TOOLS[name]}`
  return installOnce({ wanted: requirements, stamp: `${venv}/runyard-stamp` }, () => {
    const base = basePython()
    if ('missing' in base) return false
    console.log(`Installing ${name} …`)
    const steps = [
      [base.python, '-m', 'venv', '--clear', venv],
      [`${venv}/bin/python`, '-m', 'pip', '--disable-pip-version-check', '-q', 'install', '-r', requirements],
    ]
    return steps.every(
      ([command = '', ...args]) => spawnSync(command, args, { stdio: 'inherit' }).status === 0,
    )
  })
}
