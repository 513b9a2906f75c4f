/**
 * `npm run bench:clients [-- --write]`: our libraries, as published, beside those of the service whose wire format we speak.
 * Each measurement is a process of its own against the same small server, in turns, and the median counts. The ratio is
 * ours/theirs. `--write` puts the table into bench/README.md.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { createConsumer } from '../client/test/runtimes/consumer.ts'
import { toolPath } from '../client/test/runtimes/tools.ts'

const REQUESTS = 10_000
const ROUNDS = 3
const IMPORTS = 15
const PEERS = ['oz-agent-sdk==0.15.0', 'openai']

interface Row {
  what: string
  ours: number
  theirs: number
}

interface Requests {
  per_second: number
  growth: number
}

const root = fileURLToPath(new URL('../', import.meta.url))
const consumer = await createConsumer()
process.on('exit', () => consumer.remove())
const { folder } = consumer
symlinkSync(join(root, 'node_modules/oz-agent-sdk'), join(folder, 'node_modules/oz-agent-sdk'))
for (const name of ['requests.ts', 'requests.py'])
  copyFileSync(new URL(`clients/${name}`, import.meta.url), join(folder, name))

const server = spawn(process.execPath, [fileURLToPath(new URL('clients/server.ts', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const [url] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]

const execute = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** In turns, so that what else the machine does meets all alike. */
function alternate<T>(times: number, subjects: readonly string[], measure: (subject: string) => T): T[][] {
  const results: T[][] = subjects.map(() => [])
  for (let round = 0; round < times; round += 1)
    for (const [index, subject] of subjects.entries()) results[index]?.push(measure(subject))
  return results
}

function compareRequests(subjects: readonly string[], command: string, script: string): Row[] {
  const [ours = [], theirs = []] = alternate(
    ROUNDS,
    subjects,
    (subject) => JSON.parse(execute(command, [script, subject, url, String(REQUESTS)])) as Requests,
  )
  const of = (results: readonly Requests[], what: keyof Requests) => median(results.map((one) => one[what]))
  return [
    { what: 'requests per second', ours: of(ours, 'per_second'), theirs: of(theirs, 'per_second') },
    {
      what: `memory growth of ${REQUESTS} requests, MB`,
      ours: of(ours, 'growth'),
      theirs: of(theirs, 'growth'),
    },
  ]
}

const importTypeScript = (module: string): number => {
  const script = `const s = performance.now(); await import('${module}'); console.log(performance.now() - s)`
  return Number(execute(process.execPath, ['--input-type=module', '-e', script]))
}

function bundleSize(module: string): number {
  writeFileSync(join(folder, 'entry.js'), `export * from '${module}'\n`)
  const args = ['entry.js', '--bundle', '--minify', '--format=esm', '--outfile=bundle.js']
  execute(process.execPath, [toolPath('esbuild'), ...args, '--allow-overwrite', '--log-level=error'])
  return gzipSync(readFileSync(join(folder, 'bundle.js')), { level: 9 }).length / 1000
}

function compareTypeScript(): Row[] {
  const subjects = ['@runyard/client', 'oz-agent-sdk']
  const [ours = [], theirs = []] = alternate(IMPORTS, subjects, importTypeScript)
  const [small = Number.NaN, large = Number.NaN] = subjects.map(bundleSize)
  return [
    ...compareRequests(subjects, process.execPath, 'requests.ts'),
    { what: 'import, ms', ours: median(ours), theirs: median(theirs) },
    { what: 'bundle, min + gzip, kB', ours: small, theirs: large },
  ]
}

function comparePython(): Row[] {
  execute('python3', ['-m', 'venv', 'venv'])
  const python = join(folder, 'venv/bin/python')
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
  execute(python, [...install, join(root, 'python'), ...PEERS])
  // With a first client: a package that loads its parts when they are used must not look better for it.
  const start = (client: string): number => {
    const [module] = client.split('.')
    const script = `import time; s = time.perf_counter(); import ${module}; ${client}(api_key='k'); print((time.perf_counter() - s) * 1000)`
    return Number(execute(python, ['-c', script]))
  }
  const clients = ['runyard.Runyard', 'oz_agent_sdk.OzAPI', 'openai.OpenAI']
  const [ours = [], oz = [], openai = []] = alternate(IMPORTS, clients, start)
  return [
    ...compareRequests(['runyard', 'oz_agent_sdk'], python, 'requests.py'),
    { what: 'import and a first client, ms', ours: median(ours), theirs: median(oz) },
    { what: 'the same beside `openai`, ms', ours: median(ours), theirs: median(openai) },
  ]
}

/** Less than what can be seen has no ratio. */
const formatRatio = (ours: number, theirs: number): string =>
  ours < 0.05 || theirs < 0.05 ? '–' : (ours / theirs).toFixed(2)

const lines = (language: string, rows: readonly Row[]): string[] =>
  rows.map(
    ({ what, ours, theirs }) =>
      `| ${language} | ${what} | ${ours.toFixed(1)} | ${theirs.toFixed(1)} | ${formatRatio(ours, theirs)} |`,
  )

const table = [
  '| library | what | ours | theirs | ours/theirs |',
  '|---|---|---|---|---|',
  ...lines('TypeScript', compareTypeScript()),
  ...lines('Python', comparePython()),
  '',
  `Node ${process.versions.node}; theirs is oz-agent-sdk, of npm and of PyPI. \`npm run bench:clients -- --write\``,
].join('\n')
server.stdin.end()
console.log(table)

if (process.argv.includes('--write')) {
  const file = fileURLToPath(new URL('./README.md', import.meta.url))
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace(/(<!-- clients -->)[\s\S]*(<!-- end of clients -->)/, `$1\n${table}\n$2`))
}
