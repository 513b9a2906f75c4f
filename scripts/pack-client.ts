/**
 * The package of the TypeScript library. Within this repository everybody imports its sources; what is published is one
 * module, with `publishConfig.exports` as its `exports`, and carries types and the sources for debuggers and editors.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { packArchive } from './npm-archive.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const client = join(root, 'client')

interface Manifest {
  publishConfig: { exports?: unknown }
}

/** The path of the archive. */
export const packClient = (destination: string): Promise<string> =>
  packArchive('client', destination, stagePackage)

async function stagePackage(stage: string): Promise<void> {
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`)
  cpSync(join(client, 'README.md'), join(stage, 'README.md'))
  for (const name of ['LICENSE', 'CHANGELOG.md']) cpSync(join(root, name), join(stage, name))
  cpSync(join(client, 'src'), join(stage, 'src'), {
    recursive: true,
    filter: (file) => !file.endsWith('.test.ts'),
  })
  declareTypes(stage)
  await bundle(stage)
}

/** In one file, which is imported several times faster than thirty. The paths in its map are those of the package. */
async function bundle(stage: string): Promise<void> {
  await build({
    cwd: stage,
    input: 'src/index.ts',
    output: { file: 'dist/index.js', sourcemap: true },
    logLevel: 'warn',
  })
}

/** Beside the copied sources, so that the paths in the maps are those of the package. */
function declareTypes(stage: string): void {
  const config = {
    extends: join(client, 'tsconfig.build.json'),
    compilerOptions: { rootDir: 'src', outDir: 'dist' },
    include: ['src'],
  }
  writeFileSync(join(stage, 'tsconfig.json'), JSON.stringify(config))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', stage], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`The library does not compile.\n${stdout}`)
  for (const file of globSync('dist/**/*.d.ts', { cwd: stage })) {
    // The compiler does not rewrite these, and not every tool looks for x.d.ts when it reads x.ts.
    const text = readFileSync(join(stage, file), 'utf8')
    writeFileSync(join(stage, file), text.replace(/(['"]\.{1,2}\/[^'"\n]+)\.ts(['"])/g, '$1.js$2'))
  }
}

function publishedManifest(): object {
  const text = readFileSync(join(client, 'package.json'), 'utf8')
  const { publishConfig, ...manifest } = JSON.parse(text) as Manifest
  const { exports, ...publishing } = publishConfig
  return { ...manifest, exports, files: ['dist', 'src'], publishConfig: publishing }
}
