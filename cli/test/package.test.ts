/** The package `runyard` as it would be published: installed into an empty project, whose path is not plain. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { VERSION } from '../../client/src/version.ts'
import { type Ended, runTool } from '../../client/test/runtimes/run-tool.ts'
import { missing, toolPath } from '../../client/test/runtimes/tools.ts'
import { packCommand } from '../../scripts/pack-command.ts'
import { createDatabase, stopTestServer } from '../../server/test/support/databases.ts'
import { LONG, onlyLong } from '../../server/test/support/once.ts'
import { findPostgres } from '../../server/test/support/postgres-server.ts'
import { SHARED_CACHE } from '../../server/test/support/shared-cache.ts'
import { copyDependencies, type Manifest } from './copy-dependencies.ts'
import { printedBy } from './runyard.ts'

const ARCHIVE = `runyard-${VERSION}.tgz`
const LIMIT = { timeout: 600_000 }
const directory = mkdtempSync(join(tmpdir(), 'runyard package ü-'))
const project = join(directory, 'project')
const program = join(project, 'node_modules/.bin/runyard')
const environment = {
  PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  HOME: process.env.HOME,
  XDG_CONFIG_HOME: directory,
  // There is an empty database in it.
  ...SHARED_CACHE,
  // Compiled files of this place are of use to nobody else.
  NODE_DISABLE_COMPILE_CACHE: '1',
  RUNYARD_ALLOW_WEAK_LIMITS: '1',
  RUNYARD_SANDBOX: 'bubblewrap',
}
const started: ChildProcess[] = []

const runyard = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  runTool(program, args, { cwd: project, env: { ...environment, ...env } })

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(program, args, { cwd: project, env: { ...environment, ...env }, stdio: 'pipe' })
  started.push(child)
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM')
  if (child.exitCode === null) await once(child, 'exit')
}

async function readManifest(archive: string): Promise<Manifest> {
  const { stdout } = await runTool('tar', ['-xzOf', archive, 'package/package.json'])
  return JSON.parse(stdout) as Manifest
}

before(async () => {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{}')
  const archive = await packCommand(directory)
  // With --long npm fetches them, as for everybody.
  if (!LONG) copyDependencies(await readManifest(archive), project)
  const installed = await runTool('npm', ['install', '--prefer-offline', archive], {
    cwd: project,
    // npm may need more to reach its registry: a proxy, an authority of certificates.
    env: { ...process.env, ...environment },
    ...LIMIT,
  })
  assert.equal(installed.code, 0, installed.stderr)
}, LIMIT)
after(async () => {
  await Promise.all(started.map(stop))
  rmSync(directory, { recursive: true, force: true })
  await stopTestServer()
}, LIMIT)

test('it holds no TypeScript, and nothing that reports an installation', async () => {
  const { stdout } = await runTool('tar', ['-tzf', join(directory, ARCHIVE)])
  assert.deepEqual(
    stdout.split('\n').filter((file) => /\.ts$|\.test\.|@scarf/.test(file)),
    [],
  )
  // The code of other packages comes with their licenses.
  const { stdout: licenses } = await runTool('tar', [
    '-xzOf',
    join(directory, ARCHIVE),
    'package/bundle/THIRD-PARTY-LICENSES.txt',
  ])
  for (const name of ['fastify', 'zod', 'pg', '@aws-sdk/client-s3'])
    assert.match(licenses, new RegExp(`^${name} [\\d.]+ \\(.+\\)\n\n.*(License|Copyright)`, 'ms'))
  // npm leaves lock files out of some places of a package.
  assert.match(stdout, /^package\/server\/agents\/claude\/package-lock\.json$/m)
  const lock = readFileSync(join(project, 'package-lock.json'), 'utf8')
  assert(!lock.includes('scarf'))
})

test('dev runs everything embedded, and serves its pages', LIMIT, async () => {
  const dev = start(['dev', '--json', '--port', '0'])
  const line = JSON.parse(await printedBy(dev, /\n/)) as { base_url: string; web_url: string }
  const run = await runyard(['run', 'Hello.\n\n```sh\necho from the package\n```'])
  assert.equal(run.code, 0, run.stderr)
  assert.match(run.stdout, /│ from the package\n/)
  const pages = ['docs', 'docs/api', 'assets/swagger-ui/swagger-ui-bundle.js', 'assets/theme.css', 'new']
  for (const page of pages) assert.equal((await fetch(line.web_url + page)).status, 200, page)
  assert.equal((await fetch(`${line.base_url}/openapi.json`)).status, 200)
  await stop(dev)
})

onlyLong('serve and worker run on PostgreSQL', { ...LIMIT, skip: !findPostgres() }, async () => {
  const database = await createDatabase()
  const env = { DATABASE_URL: database.url, RUNYARD_SECRET_KEY: 'x'.repeat(32) }
  assert.equal((await runyard(['migrate'], env)).code, 0)
  const created = await runyard(['keys', 'create', '--name', 'test', '--role', 'admin', '--json'], env)
  const { api_key } = JSON.parse(created.stdout) as { api_key: string }
  const serve = start(['serve', '--port', '0'], env)
  const [, base_url = ''] =
    /Listening on (\S+)/.exec(await printedBy(serve, /Listening on \S+\n/, 'stderr')) ?? []
  const worker = start(['worker'], env)
  await printedBy(worker, /Working for/, 'stderr')
  const run = await runyard(['run', '--base-url', base_url, '--api-key', api_key, '```sh\necho beaten\n```'])
  assert.match(run.stdout, /│ beaten\n/, run.stderr)
  await Promise.all([serve, worker].map(stop))
  await database.drop()
})

test('an old Node is told in one line what to do', { skip: missing('node20') }, async () => {
  const old = await runTool(toolPath('node20'), [program, 'dev'], { cwd: project, env: environment })
  assert.equal(old.code, 2)
  assert.match(old.stderr, /^Runyard needs Node 24 or later, and this is Node 20\.[^\n]*: install [^\n]+\n$/)
})
