import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installOnce } from './install-once.ts'

const folder = fileURLToPath(new URL('../test/tools/', import.meta.url))

/** Other runtimes and compilers, and agents (1.7 GB); done again only when their lock file has changed. `false` when it failed. */
export const installTestTools = (): boolean =>
  installOnce({ wanted: `${folder}package-lock.json`, stamp: `${folder}node_modules/.installed` }, () => {
    console.log('Installing the runtimes, compilers and agents that are tested with …')
    // Not `npm ci`: it refuses a lock in which packages for other systems, which a registry may not have, have no version.
    const words = ['install', '--no-save', '--prefix', folder]
    return spawnSync('npm', words, { stdio: 'inherit' }).status === 0
  })
