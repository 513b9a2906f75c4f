/**
 * What the built-in loop adds to each step, without the time of the model and of the tools: steps of a run beside a bare
 * `fetch` that sends the same requests and reads the same answers to their end. `node bench/loop.ts` alone, or as a part
 * of `npm run bench`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import type { RunEvent } from '../server/src/contract/event.ts'
import { startCluster } from '../server/test/support/cluster.ts'
import { type ChatRequest, openModelServer, type Reply } from '../server/test/support/model-server.ts'
import { findPostgres, startPostgres } from '../server/test/support/postgres-server.ts'
import { apiOf, startService, temporaryDirectory } from '../server/test/support/service.ts'
import { ofType } from '../server/test/support/traces.ts'
import { writeFigures } from './figures.ts'

const ROUNDS = 5
const STEPS = 150
/** Of each run: the first ones open connections. */
const WARM_UP = 5
const POOL = 'loop'
const TEXT = Array.from({ length: 20 }, (_, at) => `word${at} `)
const LINES = 50

/** A reader of answers that does nothing else. */
const BARE = `
import { readFileSync } from 'node:fs'
const [url, file] = process.argv.slice(1)
for (const body of JSON.parse(readFileSync(file, 'utf8'))) {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  for await (const chunk of answer.body) chunk.length
}`

/** Milliseconds of each step, from one request to the next. */
interface Times {
  loop: number[]
  bare: number[]
  /** What the tools say that they took. */
  tools: number[]
}
interface Row {
  what: string
  times: Times
}

/** A call that no tool answers costs nothing of its own; the other runs a command with an output of 4 KB. */
const CALLS = {
  'calls without a tool': (step: number) => ({ name: 'nothing', arguments: { step } }),
  'commands of 4 KB of output': (step: number) => ({
    name: 'bash',
    arguments: { command: `for i in $(seq ${LINES}); do echo "${step} ${'-'.repeat(76)}"; done` },
  }),
}
type Kind = keyof typeof CALLS

/** The table, as Markdown. */
export async function measureLoop(): Promise<string> {
  const busy = loadavg()[0] ?? 0
  const rows = [...(await measurePGlite()), ...(await measurePostgreSQL())]
  return [
    '| store, steps | loop, ms | bare `fetch`, ms | tools, ms | the loop’s own, ms | p95 | loop/bare |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(({ what, times }) => {
      const own = ownTimes(times)
      const [loop, bare] = [median(times.loop), median(times.bare)]
      const figures = [loop, bare, mean(times.tools), median(own), quantile(own, 0.95)]
      return `| ${what} | ${figures.map((figure) => figure.toFixed(1)).join(' | ')} | ${(loop / bare).toFixed(1)} |`
    }),
    '',
    `Medians of ${ROUNDS} runs of ${STEPS} steps, the bare ones in turns with them; tools: means, since they are told in whole ` +
      `milliseconds. The load was ${busy.toFixed(1)} before it began. \`node bench/loop.ts --write\``,
  ].join('\n')
}

async function measurePGlite(): Promise<Row[]> {
  return withModel(async (model_url, measure) => {
    const service = await startService({ env: settings(model_url) })
    const rows = await measure('PGlite', apiOf(service), undefined)
    await service.stop()
    return rows
  })
}

async function measurePostgreSQL(): Promise<Row[]> {
  if (!findPostgres()) return []
  return withModel(async (model_url, measure) => {
    const server = await startPostgres()
    const cluster = await startCluster(server.url, settings(model_url))
    try {
      await cluster.worker(POOL)
      return await measure('PostgreSQL', cluster.api, POOL)
    } finally {
      await cluster.stop()
      await server.stop()
    }
  })
}

const settings = (model_url: string) => ({
  OPENAI_BASE_URL: model_url,
  RUNYARD_DEFAULT_MODEL: 'openai/scripted',
  RUNYARD_MODEL_RETRY_SECONDS: '0',
})

type Measure = (store: string, api: ReturnType<typeof apiOf>, pool: string | undefined) => Promise<Row[]>

async function withModel(work: (url: string, measure: Measure) => Promise<Row[]>): Promise<Row[]> {
  let kind: Kind = 'calls without a tool'
  let arrivals: number[] = []
  let requests: ChatRequest[] = []
  const script = (request: ChatRequest): Reply => {
    arrivals.push(performance.now())
    requests.push(request)
    const step = arrivals.length
    return step > STEPS ? { text: 'Done.' } : { text: TEXT, calls: [CALLS[kind](step)] }
  }
  const begin = () => {
    arrivals = []
    requests = []
  }
  const gaps = () => arrivals.slice(1).map((at, index) => at - (arrivals[index] ?? at))
  await using model = await openModelServer(script)
  const bodies = join(temporaryDirectory('bench-loop'), 'bodies.json')

  const measure: Measure = async (store, api, pool) => {
    const rows: Row[] = []
    for (const next of Object.keys(CALLS) as Kind[]) {
      kind = next
      const times: Times = { loop: [], bare: [], tools: [] }
      // The first round warms up.
      for (let round = 0; round <= ROUNDS; round++) {
        begin()
        const run_id = await api.create({ prompt: 'Go on.', config: pool ? { worker_host: pool } : {} })
        const run = await api.ended(run_id, 300)
        if (run.state !== 'SUCCEEDED') throw new Error(JSON.stringify(run.status_message))
        const loop = gaps()
        const tools = toolTimes(await api.events(run_id))
        writeFileSync(bodies, JSON.stringify(requests.map((request) => JSON.stringify(request))))
        begin()
        await readBare(`${model.url}/chat/completions`, bodies)
        if (round === 0) continue
        times.loop.push(...loop.slice(WARM_UP))
        times.bare.push(...gaps().slice(WARM_UP))
        times.tools.push(...tools.slice(WARM_UP))
      }
      rows.push({ what: `${store}, ${next}`, times })
    }
    return rows
  }
  // Awaited here: the server is gone when this returns.
  return await work(model.url, measure)
}

const toolTimes = (events: readonly RunEvent[]): number[] =>
  ofType(events, 'tool.result').map(({ data }) => data.duration_ms ?? 0)

async function readBare(url: string, bodies: string): Promise<void> {
  const args = ['--input-type=module', '-e', BARE, url, bodies]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`The bare requests ended with ${code}.`)
}

/** Of each step what neither the same request without the loop nor its tool took. */
const ownTimes = ({ loop, bare, tools }: Times): number[] => {
  const rounding = mean(tools)
  return loop.map((time, at) => time - (bare[at] ?? 0) - rounding)
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * q)] ?? Number.NaN
}
const median = (values: readonly number[]): number => quantile(values, 0.5)

if (import.meta.main) {
  const table = await measureLoop()
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('loop', table)
}
