/**
 * `npm run bench`: how fast the main path is on this machine. Starts `runyard dev` as its users do and measures through
 * HTTP, then what commands cost in each sandbox, steps of the built-in loop, cancels, creates and event streams on PostgreSQL, some 14
 * minutes. Figures stand beside a yardstick measured in the same run, so that ratios can be compared between machines; `--compare`
 * fails when a ratio is worse by a tenth than in bench/README.md, `--write` puts the tables there.
 */
import { spawn } from 'node:child_process'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { apiOf, shell, startService } from '../server/test/support/service.ts'
import { measureCancels } from './cancels.ts'
import { findWorse, writeFigures } from './figures.ts'
import { measureLoop } from './loop.ts'
import { measurePostgres } from './postgres.ts'
import { measureSandboxes } from './sandboxes.ts'
import { measureStreams } from './streams.ts'

const WARM_UP = 20
const ROUNDS = 200

interface Figure {
  what: string
  median: number
  p95: number
  yardstick: string
  ratio: number
}

const quantile = (sorted: readonly number[], q: number): number =>
  sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN

/** Milliseconds of each round, sorted; the first rounds warm up and do not count. */
async function measure(rounds: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < WARM_UP + rounds; i++) {
    const started = performance.now()
    const own = await work()
    if (i >= WARM_UP) times.push(typeof own === 'number' ? own : performance.now() - started)
  }
  return times.sort((a, b) => a - b)
}

/** Asks more often than the waits of the tests, which leave the processor to others. */
async function released(run_id: string): Promise<void> {
  for (;;) {
    const { state, is_sandbox_running } = await api.get(run_id)
    if (state === 'SUCCEEDED' && !is_sandbox_running) return
    if (state === 'FAILED' || state === 'ERROR') throw new Error(`The run ended ${state}.`)
    await wait(5)
  }
}

const service = await startService({ env: { RUNYARD_SLOTS: '8' } })
const api = apiOf(service)
const figures: Figure[] = []
const add = (what: string, times: readonly number[], yardstick: string, base: readonly number[]) =>
  figures.push({
    what,
    median: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    yardstick,
    ratio: quantile(times, 0.5) / quantile(base, 0.5),
  })

const health = await measure(ROUNDS, async () => {
  await (await fetch(service.base_url.replace('/api/v1', '/healthz'))).text()
})
add('GET /healthz (no database)', health, 'itself', health)

// A pool that nobody serves: only the create is measured, not what executing would cost beside it.
const create = await measure(ROUNDS, async () => {
  await api.create({ prompt: shell('true'), config: { worker_host: 'nobody' } })
})
add('POST /agent/runs', create, 'GET /healthz', health)

const waiting = await api.create({ prompt: shell('true'), config: { worker_host: 'nobody' } })
const get = await measure(ROUNDS, async () => {
  await api.get(waiting)
})
add('GET /agent/runs/{run_id}', get, 'GET /healthz', health)

const list = await measure(ROUNDS, async () => {
  await api.json('GET', '/agent/runs?limit=20')
})
add('GET /agent/runs (20 of them)', list, 'GET /healthz', health)

const bare = await measure(50, async () => {
  await new Promise((resolve) => {
    const args = [
      '--ro-bind',
      '/',
      '/',
      '--unshare-all',
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      'sh',
      '-c',
      'echo hello',
    ]
    spawn('bwrap', args, { stdio: ['ignore', 'pipe', 'ignore'] }).once('close', resolve)
  })
})
add('bwrap … echo hello (bare)', bare, 'itself', bare)

const first = await measure(50, async () => {
  const run_id = await api.create({ prompt: shell('echo hello') })
  await api.ended(run_id)
  const events = await api.events(run_id)
  const queued = events[0]
  const output = events.find((event) => event.type === 'tool.output')
  if (!queued || !output) throw new Error('The run has no output.')
  return Date.parse(output.occurred_at) - Date.parse(queued.occurred_at)
})
add('queued → first output from the sandbox', first, 'bare bwrap', bare)

const whole = await measure(50, async () => {
  await released(await api.create({ prompt: shell('echo hello') }))
})
add('create → ended and released', whole, 'bare bwrap', bare)

const BATCH = 200
const began = performance.now()
const ids: string[] = []
await Promise.all(
  Array.from({ length: 20 }, async () => {
    while (ids.length < BATCH) {
      const place = ids.push('') - 1
      ids[place] = await api.create({ prompt: shell('true') })
    }
  }),
)
for (const run_id of ids) await api.ended(run_id, 120)
const each = (performance.now() - began) / ids.length
await service.stop()

const rows = figures.map(
  ({ what, median, p95, yardstick, ratio }) =>
    `| ${what} | ${median.toFixed(1)} | ${p95.toFixed(1)} | ${ratio.toFixed(1)} × ${yardstick} |`,
)
const [cpu] = cpus()
const table = [
  '| what | median ms | p95 ms | beside |',
  '|---|---|---|---|',
  ...rows,
  `| one of ${BATCH} runs by 20 clients, from first create to last end | ${each.toFixed(1)} | | ${(each / quantile(bare, 0.5)).toFixed(1)} × bare bwrap |`,
  '',
  `${availableParallelism()} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}, ` +
    'PGlite, bubblewrap, 8 slots. `npm run bench -- --write`',
].join('\n')
console.log(table)

const in_sandboxes = await measureSandboxes()
console.log(in_sandboxes)

const in_loop = await measureLoop()
console.log(in_loop)

const of_cancels = await measureCancels()
console.log(of_cancels)

const on_postgres = await measurePostgres()
console.log(on_postgres)

const in_streams = await measureStreams()
console.log(in_streams)

const tables = {
  figures: table,
  sandboxes: in_sandboxes,
  loop: in_loop,
  cancels: of_cancels,
  postgres: on_postgres,
  streams: in_streams,
}
if (process.argv.includes('--compare')) {
  const worse = Object.entries(tables).flatMap(([name, measured]) => findWorse(name, measured))
  console.log(
    ['', ...worse, `${worse.length} figures are worse by a tenth than in bench/README.md.`].join('\n'),
  )
  if (worse.length > 0) process.exitCode = 1
}
if (process.argv.includes('--write'))
  for (const [name, measured] of Object.entries(tables)) writeFigures(name, measured)
