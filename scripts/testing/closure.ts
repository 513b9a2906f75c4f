/**
 * What a test file depends on, hashed: the files that it imports or names relative to itself, those that they do, and so on; the
 * lock files, Node and the programs of this machine. A test whose hash has not changed since it passed need not run again.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Where the entry of a workspace's package is. */
const PACKAGES: Record<string, string> = {
  '@runyard/client': 'client/src/index.ts',
  '@runyard/server': 'server/src/main.ts',
}
/** What is built from other files, and so not in Git. */
const BUILT: Record<string, string> = { 'web/dist': 'web' }
/** Imports, dynamic ones too, and files named as `new URL('…', import.meta.url)`. */
const NAMED =
  /(?:\bfrom|\bimport)\s*\(?\s*['"]([^'"]+)['"]|new URL\(\s*['"`]([^'"`$]+)['"`]\s*,\s*import\.meta\.url/g
/** Their versions count: tests run them. */
const PROGRAMS = [
  'bubblewrap',
  'chromium',
  'chromium-headless-shell',
  'docker.io',
  'git',
  'git-lfs',
  'postgresql',
  'python3',
  'slirp4netns',
  'socat',
]

/** By file, its hash. Empty outside of a Git checkout, where nobody knows which files are the project's. */
export function hashFiles(
  files: readonly string[],
  environment: Record<string, string>,
): Map<string, string> {
  const tracked = listFiles()
  if (!tracked) return new Map()
  const base = JSON.stringify([process.version, process.platform, process.arch, environment, readPrograms()])
  const locks = ['package-lock.json', 'test/tools/package-lock.json', 'test/long-tools/package-lock.json']
  const contents = new Map<string, string>()
  const hashOf = (file: string): string => {
    const known = contents.get(file) ?? createHash('sha256').update(readFileSync(file)).digest('hex')
    contents.set(file, known)
    return known
  }
  const named = new Map<string, readonly string[]>()
  const namedIn = (file: string): readonly string[] => {
    const known = named.get(file) ?? findNamed(file, tracked)
    named.set(file, known)
    return known
  }
  const hashWhole = (file: string): string => {
    const found = new Set([file, ...locks.filter((lock) => tracked.has(lock))])
    // A set that grows is walked to its end.
    for (const path of found) for (const next of namedIn(path)) found.add(next)
    const hash = createHash('sha256').update(base)
    for (const path of [...found].sort()) hash.update(`${path}\0${hashOf(path)}\0`)
    return hash.digest('hex')
  }
  return new Map(files.map((file) => [file, hashWhole(file)]))
}

/** A folder stands for all files in it. */
function findNamed(file: string, tracked: ReadonlySet<string>): string[] {
  if (!/\.(?:[cm]?[jt]sx?)$/.test(file)) return []
  return [...readFileSync(file, 'utf8').matchAll(NAMED)].flatMap(([, imported, url]) => {
    const name = imported ?? url ?? ''
    const path =
      PACKAGES[name] ?? (name.startsWith('.') || url !== undefined ? join(dirname(file), name) : null)
    if (path === null || path.startsWith('..')) return []
    const clean = relative('', BUILT[path.replace(/\/$/, '')] ?? path)
    if (tracked.has(clean)) return [clean]
    if (!existsSync(clean || '.') || !statSync(clean || '.').isDirectory()) return []
    return [...tracked].filter((other) => clean === '' || other.startsWith(`${clean}/`))
  })
}

function listFiles(): Set<string> | null {
  try {
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 ** 2,
    })
    return new Set(listed.split('\0').filter((file) => file !== '' && existsSync(file)))
  } catch {
    return null
  }
}

function readPrograms(): string {
  try {
    const format = `\${Package} \${Version}\n`
    return execFileSync('dpkg-query', ['--show', '--showformat', format, ...PROGRAMS], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch (error) {
    // It prints those it knows, and fails for the others.
    return error instanceof Error && 'stdout' in error ? String(error.stdout) : ''
  }
}
