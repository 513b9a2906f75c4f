import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { onlyLong } from '../../server/test/support/once.ts'
import { VERSION } from '../src/version.ts'
import { type Consumer, createConsumer } from './runtimes/consumer.ts'
import { type Ended, runTool } from './runtimes/run-tool.ts'
import { missing, type Tool, toolPath } from './runtimes/tools.ts'

/** The library is one of ECMAScript modules, and CommonJS can take it. Not a file: our own settings forbid this syntax. */
const COMMONJS = `
import { Runyard, type RunyardOptions } from '@runyard/client'
const options: RunyardOptions = { apiKey: 'ry_key' }
export const client: Runyard = new Runyard(options)
`
/** Each operation adds to it. */
const LARGEST_BUNDLE = 12_500

let consumer: Consumer
before(async () => {
  consumer = await createConsumer(['@types/node', 'undici-types'])
  copyFileSync(new URL('runtimes/strict-project.ts', import.meta.url), join(consumer.folder, 'consumer.ts'))
  writeFileSync(join(consumer.folder, 'consumer.cts'), COMMONJS)
})
after(() => consumer.remove())

const runScript = (tool: Tool, ...args: string[]): Promise<Ended> =>
  runTool(process.execPath, [toolPath(tool), ...args], { cwd: consumer.folder })

function assertClean({ code, stdout, stderr }: Ended): void {
  assert.equal(code, 0, stdout + stderr)
}

test('what is published holds the compiled library, its sources and nothing else', async () => {
  const { stdout } = await runTool('tar', ['-tzf', consumer.archive])
  const files = stdout.trim().split('\n')
  const strange = files.filter(
    (file) =>
      !/^package\/(LICENSE|CHANGELOG\.md|README\.md|package\.json|src\/[\w./-]+\.ts|dist\/[\w./-]+\.(js|d\.ts)(\.map)?)$/.test(
        file,
      ) || /\.test\./.test(file),
  )
  assert.deepEqual(strange, [])
  assert(files.includes('package/dist/index.js') && files.includes('package/LICENSE'))
  const manifest = JSON.parse(
    readFileSync(join(consumer.folder, 'node_modules/@runyard/client/package.json'), 'utf8'),
  )
  assert.equal(manifest.version, VERSION)
  assert.equal(manifest.dependencies, undefined)
  assert.equal(manifest.scripts, undefined)
})

test('publint finds nothing', { skip: missing('publint') }, async () => {
  assertClean(await runScript('publint', '--strict', consumer.archive))
})

test('attw finds nothing', { skip: missing('attw') }, async () => {
  assertClean(await runScript('attw', '--profile', 'esm-only', consumer.archive))
})

suite('strict projects compile with it', {
  concurrency: 2,
  skip: missing('tsc5', 'tsc7'),
}, () => {
  const resolutions = {
    nodenext: { module: 'nodenext' },
    bundler: { module: 'esnext', moduleResolution: 'bundler' },
  }
  const globals = {
    'the types of browsers': { lib: ['es2022', 'dom', 'dom.iterable'], types: [] },
    'the types of Node': { lib: ['es2022'], types: ['node'] },
    both: { lib: ['es2024', 'dom'], types: ['node'] },
  }
  for (const compiler of ['tsc5', 'tsc7'] as const) {
    for (const [resolution, options] of Object.entries(resolutions)) {
      for (const [types, libraries] of Object.entries(globals)) {
        const first = compiler === 'tsc5' && resolution === 'nodenext' && types === 'both'
        const register = first ? test : onlyLong
        register(`${compiler}, ${resolution}, ${types}`, async () => {
          const files = resolution === 'nodenext' ? ['consumer.ts', 'consumer.cts'] : ['consumer.ts']
          const project = join(
            consumer.folder,
            `tsconfig.${compiler}.${resolution}.${types.replaceAll(' ', '-')}.json`,
          )
          const compilerOptions = {
            ...options,
            ...libraries,
            target: 'es2022',
            strict: true,
            exactOptionalPropertyTypes: true,
            noUncheckedIndexedAccess: true,
            verbatimModuleSyntax: resolution === 'bundler',
            skipLibCheck: false,
            noEmit: true,
          }
          writeFileSync(project, JSON.stringify({ compilerOptions, files }))
          assertClean(await runScript(compiler, '-p', project))
        })
      }
    }
  }
})

test('CommonJS can require it', async () => {
  const script =
    "const { Runyard } = require('@runyard/client'); console.log(new Runyard({ apiKey: 'k' }) instanceof Runyard)"
  const ended = await runTool(process.execPath, ['--input-type=commonjs', '-e', script], {
    cwd: consumer.folder,
  })
  assert.equal(ended.stdout, 'true\n', ended.stderr)
})

test(`a bundle of all of it stays below ${LARGEST_BUNDLE} bytes`, { skip: missing('esbuild') }, async () => {
  writeFileSync(join(consumer.folder, 'all.js'), "export * from '@runyard/client'\n")
  const args = ['all.js', '--bundle', '--minify', '--format=esm', '--outfile=all.min.js']
  assertClean(await runScript('esbuild', ...args))
  const { length } = gzipSync(readFileSync(join(consumer.folder, 'all.min.js')), { level: 9 })
  assert(length < LARGEST_BUNDLE, `${length} bytes`)
})

test('what is not used leaves a bundle', { skip: missing('esbuild') }, async () => {
  writeFileSync(join(consumer.folder, 'nothing.js'), "import '@runyard/client'\n")
  const ended = await runScript('esbuild', 'nothing.js', '--bundle', '--minify', '--format=esm')
  assertClean(ended)
  assert.equal(ended.stdout.trim(), '')
})
