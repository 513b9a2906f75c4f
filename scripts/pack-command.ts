/**
 * The package `runyard`: the command with the service in it. Node does not strip types below node_modules, so each source
 * becomes a JavaScript file at its own place below the package; what the sources name relative to themselves is found there.
 * Other packages stay dependencies.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'rolldown'
import { packArchive } from './npm-archive.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const BIN = 'bin/runyard.js'
/** What a source loads beside its imports: programs and threads (`.ts`), and files that are read. */
const REFERENCE = /new URL\('(\.{1,2}\/[^']+)', import\.meta\.url\)/g

interface Manifest {
  name: string
  version: string
  dependencies: Record<string, string>
}

/** The path of the archive. */
export const packCommand = (destination: string): Promise<string> =>
  packArchive('command', destination, stagePackage)

async function stagePackage(stage: string): Promise<void> {
  const files = new Set(['README.md', 'LICENSE', 'CHANGELOG.md'])
  const manifest = publishedManifest()
  const packages = Object.keys(manifest.dependencies)
  await build({
    cwd: root,
    input: `cli/${BIN}`,
    platform: 'node',
    external: (id) => packages.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [followReferences(files)],
    output: { dir: stage, preserveModules: true, preserveModulesRoot: root, entryFileNames: '[name].js' },
    logLevel: 'warn',
  })
  for (const file of files)
    cpSync(join(root, file), join(stage, file), {
      recursive: true,
      filter: (path) => !/\.test\.ts$|tsconfig\.json$/.test(path),
    })
  writeJson(join(stage, 'package.json'), manifest)
}

/** Makes a program of its own of each `.ts` that a source names, and collects the other files. */
const followReferences = (files: Set<string>): Plugin => ({
  name: 'follow-references',
  transform(code, id) {
    return code.replace(REFERENCE, (text, reference: string) => {
      const target = resolve(dirname(id), reference)
      if (!target.endsWith('.ts')) {
        files.add(relative(root, target))
        return text
      }
      this.emitFile({ type: 'chunk', id: target })
      return text.replace(".ts'", ".js'")
    })
  },
})

function publishedManifest() {
  const { dependencies, ...manifest } = readManifest(join(root, 'cli'))
  const all = Object.entries({ ...readManifest(join(root, 'server')).dependencies, ...dependencies })
  return {
    ...manifest,
    bin: { runyard: `cli/${BIN}` },
    dependencies: Object.fromEntries(all.filter(([name]) => !name.startsWith('@runyard/')).sort()),
  }
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

const writeJson = (file: string, value: object): void =>
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
