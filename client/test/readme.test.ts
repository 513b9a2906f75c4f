/** The examples of the README: each is compiled, and run against a real service unless it says why not. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startService, type TestService } from '../../server/test/support/service.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const examples = readme.split(/^#+ /m).flatMap((section) => {
  const [heading = ''] = section.split('\n')
  const blocks = section.matchAll(/(<!-- compiled only: .* -->\n)?```ts\n([\s\S]*?\n)```/g)
  return Array.from(blocks, ([, compiled_only, code = '']) => ({ heading, code, runs: !compiled_only }))
})

describe('the README of the TypeScript library', () => {
  let service: TestService
  // Inside the project, where the library and Zod are found by their names.
  const directory = mkdtempSync(join(root, 'client/test/.readme-'))

  before(async () => {
    service = await startService()
  })
  after(async () => {
    await service?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  test('compiles', async () => {
    for (const [at, { code }] of examples.entries()) writeFileSync(join(directory, `${at + 1}.ts`), code)
    const config = { extends: join(root, 'tsconfig.json'), include: ['*.ts'], exclude: [] }
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config))
    await run('tsc', ['-p', directory]).catch((error: { stdout?: string }) => assert.fail(error.stdout))
  })

  test('runs', async () => {
    const running = [...examples.entries()].filter(([, { runs }]) => runs)
    // One process for all, since to start one costs more than what it does.
    const program = running
      .map(([at]) => `console.log('\\n=== ${at}'); await import('./${at + 1}.ts')`)
      .join('\n')
    writeFileSync(join(directory, 'all.mjs'), program)
    const env = { ...process.env, RUNYARD_BASE_URL: service.base_url, RUNYARD_API_KEY: service.api_key }
    const { stdout } = await run(process.execPath, [join(directory, 'all.mjs')], { env, timeout: 180_000 })
    const printed = new Map(
      stdout.split(/^=== /m).map((part) => {
        const [at = '', ...lines] = part.split('\n')
        return [Number(at), lines.join('\n').trim()]
      }),
    )
    for (const [at, { code, heading }] of running)
      if (code.includes('console.log') && !code.includes('export ')) assert(printed.get(at), heading)
  })
})
