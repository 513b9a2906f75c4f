/** `openapi.json` in the hands of others' tools: linters find no error, and what generators make of it works. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { shell, startService, type TestService, temporaryDirectory } from './support/service.ts'

const run = promisify(execFile)
const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const DESCRIPTION = pathOf('openapi.json')
const PACKAGES = pathOf('test/tools/node_modules')
const skip =
  !existsSync(join(PACKAGES, '@redocly/cli')) && 'test/tools is not installed (npm test installs it)'
const LIMIT = { skip, timeout: 300_000 }
/** None of them may call home. */
const env = {
  PATH: process.env.PATH,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  CI: '1',
}

describe('openapi.json', () => {
  test('has no error by Redocly', LIMIT, async () => {
    const args = [
      join(PACKAGES, '.bin/redocly'),
      'lint',
      DESCRIPTION,
      '--format=json',
      '--extends=recommended',
    ]
    const { stdout } = await run(process.execPath, args, { env, maxBuffer: 64 * 1024 * 1024 })
    const { totals } = JSON.parse(stdout) as { totals: { errors: number } }
    assert.equal(totals.errors, 0)
  })

  test('has no error by Spectral', LIMIT, async () => {
    const ruleset = join(temporaryDirectory('spectral'), 'ruleset.yaml')
    writeFileSync(ruleset, 'extends: ["spectral:oas"]\n')
    const args = [join(PACKAGES, '.bin/spectral'), 'lint', DESCRIPTION, '--ruleset', ruleset, '--quiet']
    const json = ['--format', 'json', '--fail-severity', 'error']
    const { stdout } = await run(process.execPath, [...args, ...json], { env, maxBuffer: 64 * 1024 * 1024 })
    const found = JSON.parse(stdout) as Array<{ severity: number; message: string }>
    assert.deepEqual(
      found.filter(({ severity }) => severity === 0),
      [],
    )
  })
})

/** Programs that create, list and follow a run with what the generators make. */
const HEY_API = `import { createClient, createConfig } from './made/client/index.js'
import { createRun, listRuns, streamEvents } from './made/sdk.gen.js'

const [baseUrl, auth, prompt] = process.argv.slice(2)
const client = createClient(createConfig({ baseUrl, auth, throwOnError: true }))
const { data: created } = await createRun({ client, body: { prompt }, throwOnError: true })
const { data: listed } = await listRuns({ client, throwOnError: true })
const { stream } = await streamEvents({ client, query: { run_ids: [created.run_id] } })
const seen: string[] = []
for await (const event of stream) if ('type' in event) seen.push(event.type)
console.log(JSON.stringify({ created: created.run_id, listed: listed.runs.map((run) => run.run_id), seen }))
`
const OPENAPI_FETCH = `import createClient from 'openapi-fetch'
import type { paths } from './made.ts'

const [baseUrl = '', token, prompt = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } })
const created = await client.POST('/agent/runs', { body: { prompt } })
if (!created.data) throw new Error(created.error.detail)
const run_id: string = created.data.run_id
const listed = await client.GET('/agent/runs', { params: { query: { limit: 5 } } })
const seen: string[] = []
for (let after = 0, ended = false; !ended; ) {
  // Before the page: a run that ends between the two requests would seem to lack its last events.
  const run = await client.GET('/agent/runs/{run_id}', { params: { path: { run_id } } })
  const query = { after, wait: 5 }
  const page = await client.GET('/agent/runs/{run_id}/events', { params: { path: { run_id }, query } })
  // The operation can answer with a stream, too.
  if (typeof page.data !== 'object') throw new Error('no page')
  for (const event of page.data.events) {
    seen.push(event.type)
    after = event.sequence
  }
  ended = run.data?.state === 'SUCCEEDED' && !page.data.has_more
}
console.log(JSON.stringify({ created: run_id, listed: listed.data?.runs.map((run) => run.run_id), seen }))
`

describe('clients made of openapi.json', () => {
  let service: TestService
  before(async () => {
    service = await startService()
  })
  after(() => service?.stop())

  /** Bundles the program, since Node finds no `.ts` behind an import of `.js`, and has it create, list and follow a run. */
  async function follow(folder: string, program: string): Promise<void> {
    symlinkSync(PACKAGES, join(folder, 'node_modules'))
    writeFileSync(join(folder, 'main.ts'), program)
    const words = ['main.ts', '--bundle', '--platform=node', '--format=esm', '--outfile=main.mjs']
    await run(join(PACKAGES, '.bin/esbuild'), words, { cwd: folder })
    const args = ['main.mjs', service.base_url, service.api_key, shell('echo made')]
    const { stdout } = await run(process.execPath, args, { cwd: folder })
    const { created, listed, seen } = JSON.parse(stdout) as Record<string, string[]> & { created: string }
    assert(listed?.includes(created))
    assert(seen?.includes('tool.output') && seen.includes('run.state'), String(seen))
  }

  test('by @hey-api/openapi-ts', LIMIT, async () => {
    const folder = temporaryDirectory('hey-api')
    const args = [join(PACKAGES, '.bin/openapi-ts'), '-i', DESCRIPTION, '-o', 'made', '--no-log-file']
    await run(process.execPath, args, { cwd: folder, env })
    await follow(folder, HEY_API)
  })

  test('by openapi-typescript, with openapi-fetch, whose types fit', LIMIT, async () => {
    const folder = temporaryDirectory('openapi-fetch')
    const args = [pathOf('node_modules/.bin/openapi-typescript'), DESCRIPTION, '-o', 'made.ts']
    await run(process.execPath, args, { cwd: folder, env })
    await follow(folder, OPENAPI_FETCH)
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--allowImportingTsExtensions',
      '--types',
      'node',
    ]
    const modern = ['--target', 'esnext', '--module', 'esnext', '--moduleResolution', 'bundler']
    await run(process.execPath, [join(PACKAGES, 'typescript5/bin/tsc'), ...options, ...modern, 'main.ts'], {
      cwd: folder,
    }).catch((error: { stdout?: string }) => assert.fail(error.stdout))
  })
})
