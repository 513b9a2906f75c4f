/**
 * The command and the service in a few files, for `npm test`: its hundreds of processes would each find and load some 1,500 modules, a
 * third of the CPU of a start. So are the service's own programs and threads; whatever else the sources name relative to themselves
 * stays where it is.
 */
import { globSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'rolldown'
import { hashFiles, keepBuild } from './keep-build.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const SOURCES = [
  '{server,client,cli}/{src,bin}/**/*.{ts,js}',
  '{server,client,cli}/package.json',
  'package-lock.json',
  'scripts/{bundle-command,keep-build}.ts',
]
/** What finds its own files by its place, or is seldom loaded. */
const EXTERNAL = /^(@electric-sql\/pglite|pino|dockerode)(\/|$)/
/** What processes of the command start as programs and threads of their own. Its name is one of a file of the bundle. */
const PROGRAMS = [
  'server/src/warden-process.ts',
  'server/src/gateway-process.ts',
  'server/src/worker/beat.ts',
  'server/src/harness/page-process.ts',
  'server/src/harness/page-thread.ts',
  'server/src/schema/filter-process.ts',
  'server/src/schema/filter-thread.ts',
  'server/src/schema/schema-thread.ts',
].map((path) => join(root, path))

/** The path of `runyard.js`. */
export async function bundleCommand(): Promise<string> {
  const sources = globSync(SOURCES, { cwd: root }).filter((file) => !file.includes('.test.'))
  const directory = await keepBuild('runyard-bundles', hashFiles(sources), async (draft, directory) => {
    await build({
      cwd: root,
      input: {
        runyard: 'cli/bin/runyard.js',
        ...Object.fromEntries(PROGRAMS.map((path) => [nameOf(path), path])),
      },
      platform: 'node',
      external: EXTERNAL,
      plugins: [keepPlaces(directory)],
      output: { dir: draft, entryFileNames: '[name].js', keepNames: true },
      logLevel: 'silent',
    })
    // Else each process parses every file twice to find out.
    writeFileSync(join(draft, 'package.json'), '{ "type": "module" }')
  })
  return join(directory, 'runyard.js')
}

const nameOf = (path: string): string => basename(path, '.ts')

/** `directory` is where the bundle will be. */
const keepPlaces = (directory: string): Plugin => ({
  name: 'keep-places',
  transform: (code, id) =>
    code.includes('import.meta.url')
      ? code
          .replaceAll(/new URL\((?:'([^']+)', )?import\.meta\.url\)/g, (all, name: string | undefined) => {
            const path = name === undefined ? id : join(dirname(id), name)
            if (!PROGRAMS.includes(path)) return all
            const url = pathToFileURL(join(directory, `${nameOf(path)}.js`)).href
            return `new URL(${JSON.stringify(url)})`
          })
          .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : null,
})
