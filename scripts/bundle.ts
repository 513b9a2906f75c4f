/**
 * The command and the service as a few files: Node takes longer to find and load their 1,500 modules than to run them. Each program and
 * thread that a source names relative to itself (`new URL('./warden-process.ts', import.meta.url)`) becomes an entry of its own, under its
 * name; other files are found where they are.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'rolldown'

const root = fileURLToPath(new URL('../', import.meta.url))
/** What finds its own files by its place, has parts for each machine, or is seldom loaded. */
export const EXTERNAL: readonly string[] = [
  '@electric-sql/pglite',
  '@napi-rs/keyring',
  'dockerode',
  'open',
  'pino',
]
const PLACE = /new URL\((?:'(\.{1,2}\/[^']+)', )?import\.meta\.url\)/g
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/

export interface Bundle {
  /** Files and folders beside it that its sources name, relative to the root. */
  files: ReadonlySet<string>
}

/** Writes the bundle to `draft`; `directory` is where it will be, as the sources are now. `runyard.js` is the command. */
export async function writeBundle(draft: string, directory: string): Promise<Bundle> {
  const files = new Set<string>()
  const { output } = await build({
    cwd: root,
    input: { runyard: 'cli/bin/runyard.js' },
    platform: 'node',
    external: (id) => EXTERNAL.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [followPlaces(directory, files)],
    output: { dir: draft, entryFileNames: '[name].js', keepNames: true },
    logLevel: 'silent',
  })
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  writeFileSync(join(draft, 'THIRD-PARTY-LICENSES.txt'), listLicenses(modules))
  return { files }
}

/** Everything is named from `directory`, in which all files of the bundle lie. */
const followPlaces = (directory: string, files: Set<string>): Plugin => ({
  name: 'follow-places',
  transform(code, id) {
    if (!id.startsWith(root) || id.includes('/node_modules/')) return null
    return code.replace(PLACE, (_, named: string | undefined) => {
      const path = named === undefined ? id : resolve(dirname(id), named)
      const url = (place: string) => `new URL(${JSON.stringify(place)}, import.meta.url)`
      if (path.endsWith('.ts')) {
        const fileName = `${basename(path, '.ts')}.js`
        this.emitFile({ type: 'chunk', id: path, fileName })
        return url(`./${fileName}`)
      }
      files.add(relative(root, path))
      return url(`${relative(directory, path)}${named?.endsWith('/') ? '/' : ''}`)
    })
  },
})

/** The licenses of other packages want to be passed on with their code. */
function listLicenses(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((id) => PACKAGE.exec(id.replaceAll('\0', ''))?.[0] ?? []))
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      name: string
      version: string
      license?: string
    }
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    const wanted = files.map((file) => readFileSync(join(folder, file), 'utf8').trim())
    return [`${name} ${version} (${license})`, ...wanted].join('\n\n')
  })
  return `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
