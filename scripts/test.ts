/**
 * `npm test [FOLDER|FILE …]`: installs what is missing on Debian, starts one PostgreSQL for all, runs every test and ends
 * with `N passed, N failed, N skipped`. What this machine cannot run is printed, never silent. `--long` adds the soaks
 * and repeats on every sandbox what is the same code on all; `--busy` keeps every core busy meanwhile, since no test may
 * depend on a quiet machine.
 */
import { spawn, spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { findPostgres, type PostgresServer, startPostgres } from '../server/test/support/postgres-server.ts'
import { buildWeb } from './build-web.ts'
import { bundleCommand } from './bundle-command.ts'
import { installLitellm } from './install-litellm.ts'
import { installTestTools } from './install-test-tools.ts'
import { runPytest } from './run-pytest.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
process.chdir(root)
process.env.PATH = `${root}node_modules/.bin:${process.env.PATH}`
const args = process.argv.slice(2)
const long = args.includes('--long')
if (long) process.env.RUNYARD_TEST_LONG = '1'
// Hundreds of processes load the same files.
process.env.NODE_COMPILE_CACHE ||= join(tmpdir(), 'runyard-test-compiled')
// What the service serves, where sources changed since `npm install`.
await buildWeb()
// The sources as they are: with `--long`, and of other scripts.
if (!long) process.env.RUNYARD_TEST_COMMAND = await bundleCommand()
const wanted = args.filter((arg) => !arg.startsWith('--'))

const setup = spawnSync(
  'scripts/setup-debian.sh',
  ['sandbox', 'postgres', 'docker', 'browser', 'python', 'lfs'],
  {
    stdio: 'inherit',
  },
)
if (setup.status !== 0)
  console.log('Some system packages are missing; the tests that need them are skipped and named below.')

const suffix = long ? '{test,long}' : 'test'
const files = globSync(`{server,client,cli,scripts,bench,web}/**/*.${suffix}.ts`, {
  exclude: ['**/node_modules/**'],
})
  .filter(
    (file) => wanted.length === 0 || wanted.some((prefix) => file.startsWith(prefix.replace(/\/$/, ''))),
  )
  .sort()
  // At the end only short ones, so that no lane is left with a long one.
  .sort((a, b) => Number(!isJourney(a)) - Number(!isJourney(b)))

const needsTools = (file: string) =>
  /^client\/test\/|^cli\/test\/package\.|^server\/(test|src\/harness)\/.*(mcp|tool-servers)/.test(file)
const needsLongTools = (file: string) =>
  /^client\/test\/runtimes\.|^server\/test\/(agents\.long|cancel\.long|fix-a-test\.)/.test(file)
const tools = [
  ['tools', files.some(needsTools)],
  ['long-tools', long && files.some(needsLongTools)],
] as const
for (const [name, is_needed] of tools) {
  if (is_needed && !installTestTools(name))
    console.log(`test/${name} is not installed; the tests that need it are skipped and named below.`)
}

if (files.includes('server/test/litellm.long.ts') && !installLitellm())
  console.log('LiteLLM is missing; the tests that need it are skipped and named below.')

const pythonTests =
  wanted.length === 0
    ? ['python/tests']
    : wanted
        .filter((path) => /^python(\/|$)/.test(path))
        .map((path) => path.replace(/^python\/?$/, 'python/tests'))

/** Until its parent has gone, however that ended. */
const SPIN = `for (const { ppid } = process; process.ppid === ppid; );`
const busy = args.includes('--busy')
  ? Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', SPIN]))
  : []
process.once('exit', () => {
  for (const child of busy) child.kill('SIGKILL')
})

let postgres: PostgresServer | null = null
if (files.length > 0 && findPostgres()) {
  postgres = await startPostgres()
  process.env.RUNYARD_TEST_POSTGRES = postgres.url
}

const counts = { passed: 0, failed: 0, skipped: 0 }
// Mostly waits for its turns and timers, so it runs beside the others.
const pytest = pythonTests.length > 0 ? runPytest(pythonTests) : null
if (files.length > 0) await runNodeTests()
await postgres?.stop()
// Reporters write late; the count is the last line.
await new Promise((resolve) => setImmediate(resolve))
const python = await pytest
if (python) {
  process.stdout.write(python.printed)
  counts.passed += python.passed
  counts.failed += python.failed
  counts.skipped += python.skipped
}
process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function runNodeTests(): Promise<void> {
  const stream = run({
    files,
    // More than there are cores: much of it waits for processes, databases, browsers and timers.
    concurrency: availableParallelism() + 2,
    timeout: long ? 3_600_000 : 600_000,
    // A connection that the Docker engine leaves open after the last test must not keep a file from ending.
    execArgv: ['--test-force-exit'],
  })
  stream.on('test:pass', (event) => {
    if (event.details.type === 'suite') return
    if (event.skip !== undefined || event.todo !== undefined) counts.skipped += 1
    else counts.passed += 1
  })
  stream.on('test:fail', (event) => {
    // A suite that failed because a test in it did is not a failure of its own.
    if (isSubtestFailure(event.details.error)) return
    counts.failed += 1
  })
  stream.compose(spec).pipe(process.stdout)
  await new Promise((resolve) => stream.once('end', resolve))
}

function isJourney(file: string): boolean {
  return /^(server|cli|scripts)\/(test\/)?[^/]+$/.test(file)
}

function isSubtestFailure(error: object): boolean {
  return 'failureType' in error && error.failureType === 'subtestsFailed'
}
