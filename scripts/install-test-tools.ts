import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { installOnce } from './install-once.ts'

/**
 * A runtime, compilers and tool servers (`tools`, 0.3 GB), or agents and more runtimes (`long-tools`, 1.5 GB); done again only
 * when their lock file has changed. `false` when it failed.
 */
export function installTestTools(name: 'tools' | 'long-tools'): boolean {
  const folder = fileURLToPath(new URL(`../test/${name}/`, import.meta.url))
  return installOnce(
    { wanted: `${folder}package-lock.json`, stamp: `${folder}node_modules/.installed` },
    () => {
      console.log(`Installing test/${name} …`)
      // Not `npm ci`: it refuses a lock in which packages for other systems, which a registry may not have, have no version.
      const words = ['install', '--no-save', '--prefix', folder]
      return spawnSync('npm', words, { stdio: 'inherit' }).status === 0
    },
  )
}
