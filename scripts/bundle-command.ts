/** The bundle of this checkout, for `npm test`: its hundreds of processes take a third of the CPU of a start from it. */
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeBundle } from './bundle.ts'
import { hashFiles, keepBuild } from './keep-build.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const SOURCES = [
  '{server,client,cli}/{src,bin}/**/*.{ts,js}',
  '{server,client,cli}/package.json',
  'package-lock.json',
  'scripts/{bundle,bundle-command,keep-build}.ts',
]

/** The path of `runyard.js`. */
export async function bundleCommand(): Promise<string> {
  const sources = globSync(SOURCES, { cwd: root }).filter((file) => !file.includes('.test.'))
  const directory = await keepBuild('runyard-bundles', hashFiles(sources), async (draft, directory) => {
    await writeBundle(draft, directory)
    // Else each process parses every file twice to find out.
    writeFileSync(join(draft, 'package.json'), '{ "type": "module" }')
  })
  return join(directory, 'runyard.js')
}
