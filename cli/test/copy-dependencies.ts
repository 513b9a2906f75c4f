import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

type Names = Record<string, string>
/** What a package.json says of other packages. */
export interface Manifest {
  dependencies?: Names
  optionalDependencies?: Names
  peerDependencies?: Names
}

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Gives a project the packages that `manifest` depends on, as this checkout has them: npm then unpacks some 200 archives less,
 * and fetches only what differs.
 */
export function copyDependencies(manifest: Manifest, project: string): void {
  const cwd = join(root, 'node_modules')
  const target = join(project, 'node_modules')
  // Those for other machines are not there.
  const names = [...listWithTheirs(manifest)].filter((name) => existsSync(join(cwd, name)))
  mkdirSync(target)
  execFileSync('cp', ['-a', '--parents', '--reflink=auto', ...names, target], { cwd })
}

/** Names at the top of `node_modules`; what lies below one of them is copied with it. */
function listWithTheirs(manifest: Manifest): Set<string> {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Manifest>
  }
  const found = new Set<string>()
  const addAll = ({ dependencies, optionalDependencies, peerDependencies }: Manifest): void => {
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      if (found.has(name)) continue
      found.add(name)
      const place = `node_modules/${name}`
      for (const [path, each] of Object.entries(packages))
        if (path === place || path.startsWith(`${place}/`)) addAll(each)
    }
  }
  addAll(manifest)
  return found
}
