/**
 * Every file that a person writes and that names the version of this checkout. Generated files follow from these:
 * `openapi.json` and the Python library's version, by `npm run generate`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const MANIFESTS = [
  'package.json',
  'server/package.json',
  'client/package.json',
  'cli/package.json',
  'web/package.json',
]
const LOCK = 'package-lock.json'
/** These name archives, or say to others which version speaks. Nothing else in them looks like a version of ours. */
const TEXTS = [
  'README.md',
  'client/README.md',
  'client/src/version.ts',
  'deploy/Dockerfile',
  'deploy/compose/compose.s3.yaml',
  'deploy/compose/compose.yaml',
  'deploy/helm/runyard/Chart.yaml',
  'docs/install.md',
  'docs/tasks/README.md',
  'python/README.md',
  'server/src/harness/mcp-client.ts',
]
/** Parts of the lock that describe the packages of this repository. */
const OWN_PACKAGES = ['', 'server', 'client', 'cli', 'web']
const LINKED = ['@runyard/client', '@runyard/server']

interface Lock {
  version: string
  packages: Record<string, { version?: string; dependencies?: Record<string, string> }>
}

export function readVersion(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'server/package.json'), 'utf8')) as {
    version: string
  }
  return version
}

/** The new text of each file that changes, by its path from the root; empty if the version is set already. */
export function nameVersion(root: string, version: string): Map<string, string> {
  const current = readVersion(root)
  const changed = new Map<string, string>()
  const change = (file: string, rewrite: (text: string) => string): void => {
    const before = readFileSync(join(root, file), 'utf8')
    const after = rewrite(before)
    if (after !== before) changed.set(file, after)
  }
  const own = current.replaceAll('.', '\\.')
  const in_manifest = new RegExp(`("(?:version|@runyard/\\w+)":\\s*")${own}"`, 'g')
  for (const file of MANIFESTS) change(file, (text) => text.replace(in_manifest, `$1${version}"`))
  change(LOCK, (text) => nameInLock(text, version))
  // Not a part of another number, such as 10.1.0.
  const alone = new RegExp(`(?<![\\w.])${own}(?!\\w|\\.\\d)|(?<=-)${own}(?=[.-])`, 'g')
  for (const file of TEXTS) change(file, (text) => text.replace(alone, version))
  return changed
}

function nameInLock(text: string, version: string): string {
  const lock = JSON.parse(text) as Lock
  lock.version = version
  for (const name of OWN_PACKAGES) {
    const own = lock.packages[name]
    if (!own) throw new Error(`package-lock.json has no entry for "${name}". Run npm install.`)
    own.version = version
    for (const linked of LINKED) if (own.dependencies?.[linked]) own.dependencies[linked] = version
  }
  return `${JSON.stringify(lock, null, 2)}\n`
}
