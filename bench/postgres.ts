/**
 * Creates at 50 connections on PostgreSQL, with and without statements by name and with a worker at work. Beside them, in the same
 * minutes, what the machine can do at all: `GET /healthz` and pgbench's insert of one row. Part of `npm run bench`; alone with
 * `node bench/postgres.ts [--write]`.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { type ServeRole, startCluster } from '../server/test/support/cluster.ts'
import { findPostgres, startPostgres } from '../server/test/support/postgres-server.ts'
import { shell, temporaryDirectory } from '../server/test/support/service.ts'
import { writeFigures } from './figures.ts'

const CONNECTIONS = 50
const ROUND_MS = 4_000
const ROUNDS = 5
/** As many as `serve` has. */
const CLIENTS = 10

type Rates = Record<'health' | 'insert' | 'named' | 'unnamed' | 'served', number[]>

const run = promisify(execFile)
const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Requests per second that `CONNECTIONS` clients get through in a round, each sending its next when it has its answer. */
async function measureRate(url: URL, body: string | null, api_key: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const send = () =>
    new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' }
      const call = request(url, { agent, method: body ? 'POST' : 'GET', headers }, (response) => {
        response.resume()
        response.once('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${url}: ${response.statusCode}`)),
        )
      })
      call.once('error', reject)
      call.end(body ?? undefined)
    })
  let done = 0
  const began = performance.now()
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (performance.now() - began < ROUND_MS) {
        await send()
        done += 1
      }
    }),
  )
  const rate = (done * 1000) / (performance.now() - began)
  agent.destroy()
  return rate
}

async function measureInserts(bin: string, port: number, script: string): Promise<number> {
  const args = ['-h', '127.0.0.1', '-p', String(port), '-U', 'runyard', '-n', '-f', script, '-M', 'prepared']
  const size = ['-c', String(CLIENTS), '-j', String(availableParallelism()), '-T', String(ROUND_MS / 1000)]
  const { stdout } = await run(join(bin, 'pgbench'), [...args, ...size, 'postgres'])
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
}

/** The table of figures. */
export async function measurePostgres(): Promise<string> {
  const bin = findPostgres()
  if (!bin) return 'PostgreSQL is not installed here.'
  const server = await startPostgres()
  const cluster = await startCluster(server.url)
  const busy = loadavg()[0] ?? 0
  try {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query('create table one_row (id bigserial primary key, at timestamptz, text text)')
    await client.end()
    const script = join(temporaryDirectory('bench'), 'insert.sql')
    writeFileSync(script, "insert into one_row (at, text) values (clock_timestamp(), 'one row');\n")

    const named = await cluster.serve()
    const unnamed = await cluster.serve({ DATABASE_URL: `${server.url}?prepare=false` })
    const create = ({ base_url }: ServeRole, pool = 'nobody') => {
      const body = JSON.stringify({ prompt: shell('true'), config: { worker_host: pool } })
      return measureRate(new URL(`${base_url}/agent/runs`), body, cluster.api_key)
    }
    const health = () => measureRate(new URL('/healthz', named.base_url), null, cluster.api_key)
    const insert = () => measureInserts(bin, server.port, script)

    const rates: Rates = { health: [], insert: [], named: [], unnamed: [], served: [] }
    // The first round warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const measured = {
        health: await health(),
        insert: await insert(),
        named: await create(named),
        unnamed: await create(unnamed),
      }
      if (round === 0) continue
      for (const what of ['health', 'insert', 'named', 'unnamed'] as const) rates[what].push(measured[what])
    }
    await cluster.worker('served')
    for (let round = 0; round < ROUNDS; round++) rates.served.push(await create(named, 'served'))
    return toTable(rates, busy)
  } finally {
    await cluster.stop()
    await server.stop()
  }
}

function toTable(rates: Rates, busy: number): string {
  const health = median(rates.health)
  const insert = median(rates.insert)
  const row = (what: string, rate: number) =>
    `| ${what} | ${Math.round(rate)} | ${(rate / health).toFixed(2)} | ${(rate / insert).toFixed(3)} |`
  return [
    '| what | a second | of GET /healthz | of one-row inserts |',
    '|---|---|---|---|',
    row('GET /healthz (no database)', health),
    row(`pgbench, insert of one row, ${CLIENTS} clients`, insert),
    row('POST /agent/runs, statements by name', median(rates.named)),
    row('POST /agent/runs, without (`?prepare=false`)', median(rates.unnamed)),
    row('POST /agent/runs, by name, while a worker executes what is created', median(rates.served)),
    '',
    `By name is ${(median(rates.named) / median(rates.unnamed)).toFixed(2)} times as fast. ${CONNECTIONS} connections, medians of ${ROUNDS} ` +
      `rounds in turns, one API process; clients, API and PostgreSQL (fsync off) share ${availableParallelism()} cores, whose ` +
      `load was ${busy.toFixed(1)} before it began. \`node bench/postgres.ts --write\``,
  ].join('\n')
}

if (import.meta.main) {
  const table = await measurePostgres()
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('postgres', table)
}
