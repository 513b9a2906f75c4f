/**
 * Event streams on PostgreSQL: a thousand clients, and what the API process takes to bring a thousand events a second to them. In
 * a process of their own the clients say how long after its commit each event arrived. Part of `npm run bench`; alone with
 * `node bench/streams.ts [--write]`.
 */
import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism, loadavg } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { NewEvent } from '../server/src/contract/event.ts'
import { createPrincipalWithKey } from '../server/src/store/api-keys.ts'
import { appendEvents } from '../server/src/store/events.ts'
import { beat, type Lease } from '../server/src/store/leases.ts'
import { Watch } from '../server/src/store/watch.ts'
import { type Cluster, startCluster } from '../server/test/support/cluster.ts'
import { findPostgres, startPostgres } from '../server/test/support/postgres-server.ts'
import { shell } from '../server/test/support/service.ts'
import { RowWorker } from '../server/test/support/stored-runs.ts'
import { writeFigures } from './figures.ts'

const CLIENTS = 1_000
/** One alone may not open so many streams. */
const PRINCIPALS = 20
const DELIVERIES_A_SECOND = 1_000
const ROUND_MS = 10_000
/** How many runs they follow: each one its own, ten one, a hundred one, all one. */
const RUNS = [1_000, 100, 10, 1]

interface Figures {
  p50: number
  p99: number
  missing: number
  cpu: number
  rss_mb: number
}

/** Of a process since it began, in ms: clock ticks are hundredths of a second on Linux. */
function readCpu(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

const readRss = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** One message of an agent, stored and told as a worker does. */
async function append({ store }: Cluster, watch: Watch, lease: Lease, batch: number): Promise<void> {
  const hint = watch.takeHint({ logged: lease.run_id })
  const text = `${batch}`.padEnd(200, '.')
  const event: NewEvent = { type: 'message.assistant', data: { message_id: `at-${batch}`, text } }
  if ((await appendEvents(store.db, lease, batch + 1, [event], hint)) === 'lost')
    throw new Error('The run is lost.')
  if (hint === null) watch.touchLog(lease.run_id)
}

async function measure(cluster: Cluster, count: number): Promise<Figures> {
  const watch = new Watch(cluster.store)
  const worker = new RowWorker(
    { store: cluster.store, watch } as ConstructorParameters<typeof RowWorker>[0],
    { slots: count },
  )
  await worker.register()
  const beats = setInterval(() => beat(cluster.store.db, worker.worker_id), 1_000)
  const leases: Lease[] = []
  for (let at = 0; at < count; at++) {
    const run_id = await cluster.api.create({
      prompt: shell('true'),
      config: { worker_host: worker.pool, harness: { type: 'runbook' } },
    })
    leases.push(await worker.start(run_id))
  }
  const clients = fork(fileURLToPath(import.meta.url), ['clients'])
  const hear = () =>
    new Promise<number[]>((resolve, reject) => {
      clients.once('message', (said) => resolve(said as number[]))
      clients.once('exit', () => reject(new Error('The clients ended.')))
    })
  const keys: string[] = []
  for (let at = 0; at < PRINCIPALS; at++)
    keys.push(
      (await createPrincipalWithKey(cluster.store.db, { name: `reader ${at}`, role: 'admin' })).api_key,
    )
  const streams = Array.from({ length: CLIENTS }, (_, at) => ({
    path: `/api/v1/agent/runs/${leases[at % count]?.run_id}/events`,
    api_key: keys[at % PRINCIPALS],
  }))
  clients.send({ url: cluster.base_url, streams })
  await hear()
  await wait(2_000)
  const pid = cluster.first.pid
  const began = performance.now()
  const cpu = readCpu(pid)
  const gap = (1_000 * (CLIENTS / count)) / DELIVERIES_A_SECOND
  let sent = 0
  let rss = 0
  for (; sent * gap < ROUND_MS; sent++) {
    await wait(Math.max(0, began + sent * gap - performance.now()))
    const lease = leases[sent % count]
    if (lease) await append(cluster, watch, lease, sent)
    if (sent % 100 === 0) rss = Math.max(rss, readRss(pid))
  }
  const took = performance.now() - began
  const used = readCpu(pid) - cpu
  await wait(1_000)
  clients.send('report')
  const late = (await hear()).toSorted((a, b) => a - b)
  clients.kill()
  clearInterval(beats)
  await watch.close()
  const at = (part: number) => late[Math.floor(late.length * part)] ?? Number.NaN
  return {
    ...{ p50: at(0.5), p99: at(0.99), missing: (sent * CLIENTS) / count - late.length },
    ...{ cpu: (100 * used) / took, rss_mb: Math.max(rss, readRss(pid)) },
  }
}

/** The table of figures. */
export async function measureStreams(): Promise<string> {
  if (!findPostgres()) return 'PostgreSQL is not installed here.'
  const busy = loadavg()[0] ?? 0
  const rows: string[] = []
  for (const count of RUNS) {
    const server = await startPostgres()
    const cluster = await startCluster(server.url)
    try {
      const rest = readRss(cluster.first.pid)
      const { p50, p99, missing, cpu, rss_mb } = await measure(cluster, count)
      const memory = `${rss_mb.toFixed(0)} (${rest.toFixed(0)} before)`
      rows.push(
        `| ${count} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${missing} | ${cpu.toFixed(0)} % | ${memory} |`,
      )
    } finally {
      await cluster.stop()
      await server.stop()
    }
  }
  return [
    '| runs followed | commit to client, p50 ms | p99 ms | lost | of a core | memory of `serve`, MB |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    `${CLIENTS} clients, ${DELIVERIES_A_SECOND} events a second delivered to them altogether for ${ROUND_MS / 1000} s, one API process; PostgreSQL, ` +
      `the writer and the clients share its ${availableParallelism()} cores, whose load was ${busy.toFixed(1)} before it began. ` +
      '`node bench/streams.ts --write`',
  ].join('\n')
}

interface Streams {
  url: string
  streams: Array<{ path: string; api_key: string }>
}

/** The other process: opens all streams, says so, and on demand how late each event was. */
function beClients(): void {
  const late: number[] = []
  process.on('message', (message: 'report' | Streams) => {
    if (message === 'report') {
      process.send?.(late)
      return
    }
    void openAll(message, late).then(() => process.send?.([]))
  })
}

/** A few at a time, as they come in life. */
async function openAll({ url, streams }: Streams, late: number[]): Promise<void> {
  const { hostname, port } = new URL(url)
  const waiting = [...streams]
  const open = ({ path, api_key }: Streams['streams'][number]) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname)
      socket.setEncoding('utf8')
      socket.write(
        `GET ${path}?follow=true HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\nauthorization: Bearer ${api_key}\r\n\r\n`,
      )
      let is_open = false
      socket.on('data', (text: string) => {
        if (!is_open && !text.startsWith('HTTP/1.1 200')) throw new Error(text)
        is_open = true
        resolve()
        const now = performance.timeOrigin + performance.now()
        for (const [, at] of text.matchAll(/"occurred_at":"([^"]+)"[^\n]*"message_id":"at-/g))
          late.push(now - Date.parse(String(at)))
      })
    })
  const openSome = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await open(next)
  }
  await Promise.all(Array.from({ length: 10 }, openSome))
}

if (process.argv[2] === 'clients') beClients()
else if (import.meta.main) {
  const table = await measureStreams()
  console.log(table)
  if (process.argv.includes('--write')) writeFigures('streams', table)
}
