/**
 * `npm run demo`: the whole path of one run in under a minute, offline. Starts everything embedded, brings this project's
 * own repository into a sandbox, runs a real job in it, steers it with a follow-up, takes its changes over into a second
 * checkout, and stops. The steps are the commands that anyone would type. With a model provider in the environment, the same
 * job goes to that model.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import picocolors from 'picocolors'

const MODEL_VARIABLES = [
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'ANTHROPIC_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
]

const { bold, dim, green, red } = picocolors
const { values } = parseArgs({ options: { sandbox: { type: 'string' } } })
const root = fileURLToPath(new URL('../', import.meta.url))
const bin = join(root, 'cli/bin/runyard.js')
const data_dir = mkdtempSync(join(tmpdir(), 'runyard-demo-'))
const started = performance.now()
let service: ChildProcess | undefined
/** The command that is shown now. */
let watched: ChildProcess | undefined
let ending = false
process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))

function show(what: string, command: string): void {
  console.log(`${what && `\n${bold(what)}\n`}${dim(`$ ${command}`)}`)
}

/** Shows a command as a person would type it, runs it, and ends the demo when it fails. */
async function step(
  what: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  { quiet = false, cwd = root } = {},
): Promise<string> {
  show(what, `npx runyard ${args.join(' ')}`)
  const child = spawn(process.execPath, [bin, ...args], {
    cwd,
    env,
    stdio: ['inherit', quiet ? 'pipe' : 'inherit', 'inherit'],
  })
  watched = child
  let output = ''
  child.stdout?.on('data', (chunk) => {
    output += chunk
  })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  if (code !== 0) await end(`This step ended with exit code ${code}.`)
  return output
}

async function end(failure?: string): Promise<never> {
  // The command that is ended below would be a step that failed.
  if (ending) return new Promise(() => {})
  ending = true
  const exits = [watched, service].map((child) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return null
    const exited = new Promise((resolve) => child.once('exit', resolve))
    // At Ctrl-C the command asks what to do now, and would do so for ever.
    child.kill('SIGTERM')
    return exited
  })
  await Promise.all(exits)
  if (failure) console.error(`\n${red(failure)}`)
  process.exit(failure ? 1 : 0)
}

// Where it cannot install them, Docker may work without; otherwise `dev` says what is missing.
spawnSync(join(root, 'scripts/setup-debian.sh'), ['sandbox'], { stdio: 'inherit' })

console.log(`${bold('Starting everything in one process, on a free port')}`)
const dev = [
  'dev',
  '--json',
  '--port',
  '0',
  '--data-dir',
  data_dir,
  '--no-user-config',
  ...(values.sandbox ? ['--sandbox', values.sandbox] : []),
]
console.log(dim(`$ npx runyard ${dev.join(' ')}`))
service = spawn(process.execPath, [bin, ...dev], {
  cwd: root,
  stdio: ['ignore', 'pipe', 'inherit'],
  detached: true,
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end('Stopped.'))
const { stdout } = service
if (!stdout) throw new Error('The service has no standard output.')
const line = await new Promise<string | null>((resolve) => {
  createInterface({ input: stdout }).once('line', resolve)
  service?.once('exit', () => resolve(null))
})
if (line === null) await end('The service did not start.')
const { base_url, api_key, sandbox, database } = JSON.parse(line ?? '{}') as Record<string, string>
const env = { ...process.env, RUNYARD_BASE_URL: base_url, RUNYARD_API_KEY: api_key }
console.log(`${green('✓')} ${base_url} · sandbox ${sandbox} · database ${database}`)

const environment = JSON.parse(
  await step(
    'An environment: this project’s own repository',
    ['env', 'create', 'this-repository', '--repo', '.', '-o', 'json'],
    env,
    { quiet: true },
  ),
) as { uid: string }
console.log(`${green('✓')} environment ${environment.uid}`)

const run = [
  'run',
  '--file',
  'examples/demo/inspect.md',
  '--env',
  environment.uid,
  '--name',
  'demo',
  '--wait',
]
await step('A run: what is new here, and does the example work?', run, env)

const [latest] = (
  JSON.parse(await capture(['list', '--name', 'demo', '--limit', '1', '-o', 'json'])) as {
    runs: Array<{ run_id: string }>
  }
).runs
if (!latest) await end('The run is not in the list.')
const run_id = latest?.run_id ?? ''
await step(
  'A follow-up to the same run: fix it',
  ['message', run_id, '--file', 'examples/demo/fix.md', '--wait'],
  env,
)
await step('The run, as anyone can read it', ['get', run_id], env)

const { repositories } = JSON.parse(await capture(['diff', run_id, '-o', 'json'])) as {
  repositories: Array<{ base_commit: string }>
}
await step('What it changed', ['diff', run_id, '--stat'], env)
// A second checkout, so that the one of the person who runs this stays as it is.
const checkout = join(data_dir, 'checkout')
const commit = repositories[0]?.base_commit ?? 'HEAD'
show('Taking it over, into a second checkout of this repository', `git clone . ${checkout} && cd ${checkout}`)
await runGit(['clone', '--quiet', '--no-checkout', root, checkout])
await runGit(['-C', checkout, 'checkout', '--quiet', '--detach', commit])
const passed_before = testExample()
await step('', ['apply', run_id], env, { cwd: checkout })
const passes_now = testExample()
console.log(
  `\nThe tests of examples/broken-sum there ${passed_before ? 'passed' : 'failed'} before and ${passes_now ? 'pass' : 'fail'} now.`,
)
if (passed_before || !passes_now) await end('The example was to be broken before, and whole now.')

/** Whether the tests of the example pass in the second checkout. */
function testExample(): boolean {
  const cwd = join(checkout, 'examples/broken-sum')
  return spawnSync(process.execPath, ['--test'], { cwd }).status === 0
}

async function runGit(args: string[]): Promise<void> {
  const { status, stderr } = spawnSync('git', args, { encoding: 'utf8' })
  if (status !== 0) await end(stderr)
}

async function capture(args: string[]): Promise<string> {
  const child = spawnSync(process.execPath, [bin, ...args], { cwd: root, env, encoding: 'utf8' })
  if (child.status !== 0) await end(child.stderr)
  return child.stdout
}

const with_model = MODEL_VARIABLES.some((name) => process.env[name])
console.log(`\n${green('✓')} Done in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
if (!with_model) {
  console.log(
    'No model took part: the prompts’ shell blocks were run as a runbook. To let a model do the same job, set one of\n' +
      `${MODEL_VARIABLES.join(', ')} and run it again.`,
  )
}
console.log(`To keep a service running: ${bold('npx runyard dev')}`)
await end()
