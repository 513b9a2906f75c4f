/**
 * The package `runyard`: the command with the service in it, bundled (scripts/bundle.ts) into a folder beside those of the rooms, from
 * which it reads its other files. What is not in the bundle stays a dependency.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXTERNAL, writeBundle } from './bundle.ts'
import { packArchive } from './npm-archive.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const BUNDLE = 'bundle'

interface Manifest {
  name: string
  version: string
  dependencies: Record<string, string>
}

/** The path of the archive. */
export const packCommand = (destination: string): Promise<string> =>
  packArchive('command', destination, stagePackage)

async function stagePackage(stage: string): Promise<void> {
  const { files } = await writeBundle(join(stage, BUNDLE), join(root, BUNDLE))
  for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md', ...files])
    cpSync(join(root, file), join(stage, file), {
      recursive: true,
      filter: (path) => !/\.test\.ts$|tsconfig\.json$/.test(path),
    })
  writeJson(join(stage, 'package.json'), publishedManifest())
}

function publishedManifest() {
  const { dependencies, ...manifest } = readManifest(join(root, 'cli'))
  const all = Object.entries({ ...readManifest(join(root, 'server')).dependencies, ...dependencies })
  return {
    ...manifest,
    bin: { runyard: `${BUNDLE}/runyard.js` },
    dependencies: Object.fromEntries(all.filter(([name]) => EXTERNAL.includes(name)).sort()),
  }
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

const writeJson = (file: string, value: object): void =>
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
