/**
 * Measures starts: commands and each role of the service, from a checkout and as published, beside Node's own start and a bare process
 * with the embedded database. `node bench/start.ts [--write] [--beside runyard.js]…`; the latter are measured in the same
 * turns, for before and after.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { packCommand } from '../scripts/pack-command.ts'
import { findPostgres, startPostgres } from '../server/test/support/postgres-server.ts'
import { temporaryDirectory } from '../server/test/support/service.ts'
import { writeFigures } from './figures.ts'

const ROUNDS = 5
const REST_MS = 60_000
/** The unit of times in `/proc`, which no kernel for users has changed. */
const TICK_MS = 10
const CHECKOUT = fileURLToPath(new URL('../cli/bin/runyard.js', import.meta.url))

interface Cost {
  cpu_ms: number
  ms: number
}
interface Rest {
  what: string
  rss_mb: number
  /** Of one core. */
  cpu_percent: number
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Unpacked below the checkout, whose packages it finds there. */
async function unpackPublished(): Promise<string> {
  const root = fileURLToPath(new URL('../node_modules/.cache/runyard-start', import.meta.url))
  const packages = join(root, 'node_modules')
  const target = join(packages, 'runyard')
  rmSync(packages, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  const archive = await packCommand(temporaryDirectory('pack'))
  execFileSync('tar', ['-xzf', archive, '-C', target, '--strip-components=1'])
  return join(target, 'bundle/runyard.js')
}

const home = temporaryDirectory('home')
/** The cache is kept between rounds, as at a user's: the first round, which fills it, does not count. */
const environment = {
  PATH: process.env.PATH ?? '',
  HOME: home,
  RUNYARD_SECRET_KEY: 'x'.repeat(32),
  RUNYARD_SANDBOX: 'bubblewrap',
  RUNYARD_ALLOW_WEAK_LIMITS: '1',
}
const directory = temporaryDirectory('start')

/** To its end, children included. */
function measureCommand(args: readonly string[], env: Record<string, string> = {}): Cost {
  const script = 'TIMEFORMAT="%3U %3S %3R"; time "$@" >/dev/null 2>&1'
  const output = execFileSync('bash', ['-c', `{ ${script}; } 2>&1`, 'bash', process.execPath, ...args], {
    env: { ...environment, ...env },
    cwd: directory,
    encoding: 'utf8',
  })
  const [user = 0, system = 0, real = 0] = output.trim().split(' ').map(Number)
  return { cpu_ms: (user + system) * 1000, ms: real * 1000 }
}

const childrenOf = (pid: number): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )

/** CPU of a process and all that it has started, in ms. */
function readCpu(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // utime, stime, and both of the children that have ended.
  const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
  return childrenOf(pid).reduce((sum, child) => sum + readCpu(child), own)
}

const readRss = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

interface Started {
  child: ChildProcess
  pid: number
  /** The service's, if it has one. */
  address: string | undefined
  cost: Cost
}

/** `ready` finds its address, if it has one, in what it prints. */
async function startRole(
  args: readonly string[],
  ready: RegExp,
  env: Record<string, string> = {},
): Promise<Started> {
  const began = performance.now()
  const child = spawn(process.execPath, args, { cwd: directory, env: { ...environment, ...env } })
  const { pid } = child
  if (pid === undefined) throw new Error('It could not be started.')
  let printed = ''
  const [, address] = await new Promise<RegExpExecArray>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      printed += chunk
      const found = ready.exec(printed)
      if (found) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', () => reject(new Error(`${args.join(' ')} ended:\n${printed}`)))
  })
  if (address) await (await fetch(new URL('/healthz', address))).text()
  return { child, pid, address, cost: { ms: performance.now() - began, cpu_ms: readCpu(pid) } }
}

async function stop({ child }: Started): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function costOf(starting: Promise<Started>): Promise<Cost> {
  const started = await starting
  await stop(started)
  return started.cost
}

async function measureRest(what: string, starting: Promise<Started>): Promise<Rest> {
  const started = await starting
  // What it puts off until it has started is none of its rest.
  await wait(REST_MS / 4)
  const before = readCpu(started.pid)
  await wait(REST_MS)
  const rest = {
    what,
    rss_mb: readRss(started.pid),
    cpu_percent: ((readCpu(started.pid) - before) / REST_MS) * 100,
  }
  await stop(started)
  return rest
}

const PGLITE = (folder: string) => `
  const { PGlite } = await import(${JSON.stringify(import.meta.resolve('@electric-sql/pglite'))})
  const db = await PGlite.create(${JSON.stringify(folder)})
  await db.query('select 1')
  console.log('ready')
  process.on('SIGTERM', () => db.close().then(() => process.exit()))
  setInterval(() => {}, 1000)`
const pglite = (folder: string) => startRole(['--input-type=module', '-e', PGLITE(folder)], /ready/)

const SERVE = /Listening on (\S+)/
const WORKER = /Working for/
const DEV = /"base_url":"([^"]+)"/

/** Measures starts, and the roles at rest. */
export async function measureStart(beside: readonly string[]): Promise<string> {
  if (!findPostgres()) return 'PostgreSQL is not installed here.'
  const load = loadavg()[0] ?? 0
  const forms = [
    ['published', await unpackPublished()],
    ['checkout', CHECKOUT],
    ...beside.map((path) => [path, path] as const),
  ] as const
  const postgres = await startPostgres()
  const env = { DATABASE_URL: postgres.url, RUNYARD_DATA_DIR: temporaryDirectory('data') }
  const bare = join(directory, 'bare')
  execFileSync(process.execPath, [CHECKOUT, 'migrate'], { env: { ...environment, ...env } })
  const { api_key } = JSON.parse(
    execFileSync(
      process.execPath,
      [CHECKOUT, 'keys', 'create', '--name', 'bench', '--role', 'admin', '--json'],
      {
        env: { ...environment, ...env },
        encoding: 'utf8',
      },
    ),
  ) as { api_key: string }
  const server = await startRole([CHECKOUT, 'serve', '--port', '0'], SERVE, env)
  const dev = (runyard: string, folder: string) =>
    startRole([runyard, 'dev', '--json', '--port', '0', '--no-user-config', '--data-dir', folder], DEV)
  const costs = new Map<string, Cost[]>()
  const note = (what: string, cost: Cost) => costs.set(what, [...(costs.get(what) ?? []), cost])
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      if (round === 1) costs.clear()
      note('`node -e 0`', measureCommand(['-e', '0']))
      note('bare PGlite', await costOf(pglite(bare)))
      for (const [form, runyard] of forms) {
        const list = ['list', '--base-url', String(server.address), '--api-key', api_key]
        const folder = join(directory, `dev-${round}`)
        note(`\`runyard --help\`, ${form}`, measureCommand([runyard, '--help']))
        note(`\`runyard list\`, ${form}`, measureCommand([runyard, ...list]))
        note(
          `\`serve\` to its first answer, ${form}`,
          await costOf(startRole([runyard, 'serve', '--port', '0'], SERVE, env)),
        )
        note(`\`worker\` until it works, ${form}`, await costOf(startRole([runyard, 'worker'], WORKER, env)))
        note(`\`dev\`, first start, ${form}`, await costOf(dev(runyard, folder)))
        note(`\`dev\`, second start, ${form}`, await costOf(dev(runyard, folder)))
        rmSync(folder, { recursive: true })
      }
    }
    const resting = [measureRest('bare PGlite', pglite(bare))]
    for (const [form, runyard] of forms)
      resting.push(
        measureRest(`\`serve\`, ${form}`, startRole([runyard, 'serve', '--port', '0'], SERVE, env)),
        measureRest(`\`worker\`, ${form}`, startRole([runyard, 'worker'], WORKER, env)),
        measureRest(`\`dev\`, ${form}`, dev(runyard, temporaryDirectory('dev'))),
      )
    const rests = await Promise.all(resting)
    return toTable(costs, rests, load)
  } finally {
    await stop(server)
    await postgres.stop()
  }
}

function toTable(costs: Map<string, Cost[]>, rests: readonly Rest[], load: number): string {
  const cpuOf = (what: string) => median((costs.get(what) ?? []).map(({ cpu_ms }) => cpu_ms))
  const times = (cpu_ms: number, what: string) => (cpu_ms / cpuOf(what)).toFixed(2)
  const [bare] = rests
  return [
    '| start | CPU, ms | until ready, ms | CPU, × `node -e 0` | × bare PGlite |',
    '|---|---|---|---|---|',
    ...[...costs].map(([what, all]) => {
      const cpu_ms = cpuOf(what)
      const ms = median(all.map((cost) => cost.ms))
      return `| ${what} | ${cpu_ms.toFixed(0)} | ${ms.toFixed(0)} | ${times(cpu_ms, '`node -e 0`')} | ${times(cpu_ms, 'bare PGlite')} |`
    }),
    '',
    '| at rest | RSS, MB | CPU, % of a core | RSS, × bare PGlite |',
    '|---|---|---|---|',
    ...rests.map(
      ({ what, rss_mb, cpu_percent }) =>
        `| ${what} | ${rss_mb.toFixed(0)} | ${cpu_percent.toFixed(2)} | ${(rss_mb / (bare?.rss_mb ?? 0)).toFixed(2)} |`,
    ),
    '',
    `Medians of ${ROUNDS} starts in turns, with the compile cache filled; CPU is of all processes that a start starts. RSS of the ` +
      `process itself, ${(REST_MS * 1.25) / 1000} s after its start, all at rest at once. Node ${process.versions.node}; the load was ${load.toFixed(1)} before it began. ` +
      '`node bench/start.ts --write`',
  ].join('\n')
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { write: { type: 'boolean' }, beside: { type: 'string', multiple: true, default: [] } },
  })
  const table = await measureStart(values.beside)
  console.log(table)
  if (values.write) writeFigures('start', table)
}
