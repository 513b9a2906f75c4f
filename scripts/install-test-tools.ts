import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../test/tools/', import.meta.url))
const stamp = `${folder}node_modules/.installed`

/** Other runtimes and compilers, and agents (1.7 GB); done again only when their lock file has changed. `false` when it failed. */
export function installTestTools(): boolean {
  const wanted = createHash('sha256')
    .update(readFileSync(`${folder}package-lock.json`))
    .digest('hex')
  if (readStamp() === wanted) return true
  console.log('Installing the runtimes, compilers and agents that are tested with …')
  // Not `npm ci`: it refuses a lock in which packages for other systems, which a registry may not have, have no version.
  const { status } = spawnSync('npm', ['install', '--no-save', '--prefix', folder], { stdio: 'inherit' })
  if (status !== 0) return false
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
