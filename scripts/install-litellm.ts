import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { basePython } from './setup-python.ts'

const folder = fileURLToPath(new URL('../test/tools/', import.meta.url))
const requirements = `${folder}litellm.txt`
const venv = `${folder}.venv`
const stamp = `${venv}/runyard-stamp`

/** LiteLLM's proxy (750 MB, some minutes), in an environment of its own; done again only when its version has changed. `false` when it failed. */
export function installLitellm(): boolean {
  const wanted = createHash('sha256').update(readFileSync(requirements)).digest('hex')
  if (readStamp() === wanted) return true
  const base = basePython()
  if ('missing' in base) return false
  console.log('Installing LiteLLM …')
  const steps = [
    [base.python, '-m', 'venv', '--clear', venv],
    [`${venv}/bin/python`, '-m', 'pip', '--disable-pip-version-check', '-q', 'install', '-r', requirements],
  ]
  for (const [command = '', ...args] of steps)
    if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0) return false
  writeFileSync(stamp, wanted)
  return true
}

function readStamp(): string | null {
  try {
    return readFileSync(stamp, 'utf8')
  } catch {
    return null
  }
}
