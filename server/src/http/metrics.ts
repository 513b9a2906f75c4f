import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type Counts, readCounts } from '../store/counts.ts'
import type { Store } from '../store/db.ts'
import { isCutShort, isUnavailable } from '../store/faults.ts'
import { watchEventLoop } from '../watchdog/event-loop.ts'

/** What was read of the database is good for so long, */
const FRESH_MS = 5_000
/** and for so many times what the reading took: it never is more than a twentieth of one connection's work. One that failed did none. */
const PATIENCE = 20

/** Of the process, whatever is served in it. */
const ofProcess = new Registry()

/** What `/metrics` says, in numbers: no names, no ids, no texts. */
/** Until the event loop, which is looked at every 10 ms, was measured for the first time. */
const FIRST_LOOK_MS = 50

let measured: Promise<void> | undefined

async function measureProcess(): Promise<void> {
  collectDefaultMetrics({ register: ofProcess })
  await setTimeout(FIRST_LOOK_MS)
}

export class Metrics {
  readonly #store: Store
  readonly #log: Pick<Logger, 'error'>
  readonly #registry = new Registry()
  readonly #registers = { registers: [this.#registry] }
  readonly streams = new Gauge({
    ...this.#registers,
    name: 'runyard_streams_open',
    help: 'Event streams that are open at this process.',
  })
  readonly #requests = new Counter({
    ...this.#registers,
    name: 'runyard_http_requests_total',
    help: 'Requests that this process answered.',
    labelNames: ['method', 'route', 'status'],
  })
  readonly #seconds = new Histogram({
    ...this.#registers,
    name: 'runyard_http_request_duration_seconds',
    help: 'How long answers took, but for event streams.',
    labelNames: ['method', 'route'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  })
  readonly #blocked = new Histogram({
    ...this.#registers,
    name: 'runyard_event_loop_blocked_seconds',
    help: 'Times of 250 ms and more in which one piece of work kept this process from everything else; the log names it.',
    labelNames: ['work'],
    buckets: [0.25, 0.5, 1, 2.5, 5, 10, 30],
  })
  readonly #database = new Gauge({
    ...this.#registers,
    name: 'runyard_database_up',
    help: '1 where the database answered when these numbers were read.',
  })
  readonly #set: (counts: Counts) => void
  #reading: Promise<void> | null = null
  #stale_at = Number.NEGATIVE_INFINITY

  constructor(store: Store, version: string, log: Pick<Logger, 'error'>) {
    this.#store = store
    this.#log = log
    const registers = this.#registers
    this.#set = describeCounts(this.#registry)
    new Gauge({
      ...registers,
      ...{ name: 'runyard_info', help: 'Always 1.', labelNames: ['version'] },
    }).set({ version }, 1)
    const { connections } = store
    if (connections) describePool(this.#registry, connections)
  }

  /** Counts every answer, and what blocks the event loop. */
  observe(app: FastifyInstance): void {
    const stopWatching = watchEventLoop(({ blocked_ms, work }) =>
      this.#blocked.observe({ work: work?.kind ?? 'none' }, blocked_ms / 1_000),
    )
    app.addHook('onClose', async () => stopWatching())
    app.addHook('onResponse', async (request, reply) => {
      // What there is no route for is one: paths are anybody's words.
      const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none')
      const { method } = request
      this.#requests.inc({ method, route, status: reply.statusCode })
      if (!String(reply.getHeader('content-type')).startsWith('text/event-stream'))
        this.#seconds.observe({ method, route }, reply.elapsedTime / 1_000)
    })
  }

  readonly contentType = this.#registry.contentType

  /** The exposition, as Prometheus reads it. */
  async expose(): Promise<string> {
    // Not before somebody asks: to measure how late the event loop is wakes the process a hundred times a second.
    measured ??= measureProcess()
    await measured
    await this.#refresh()
    return Registry.merge([ofProcess, this.#registry]).metrics()
  }

  #refresh(): Promise<void> {
    if (performance.now() < this.#stale_at) return Promise.resolve()
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    const began = performance.now()
    let took = 0
    try {
      this.#set(await readCounts(this.#store.quick))
      this.#database.set(1)
      took = performance.now() - began
    } catch (error) {
      if (!isUnavailable(error) && !isCutShort(error))
        this.#log.error({ err: error }, 'The counts for /metrics cannot be read.')
      // The numbers of before stay: a gap would look like an end. Long waits for one that is away say nothing about the next.
      this.#database.set(0)
    }
    this.#stale_at = performance.now() + Math.max(FRESH_MS, PATIENCE * took)
  }
}

/** Of the whole installation: every process says the same. */
function describeCounts(registry: Registry): (counts: Counts) => void {
  const registers = [registry]
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `runyard_${name}`, help, labelNames, registers })
  const total = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `runyard_${name}_total`, help, labelNames, registers })
  const open = gauge('runs', 'Runs that have not ended, by state.', 'state')
  const oldest = gauge('queue_oldest_seconds', 'How long the oldest queued run has waited.')
  const workers = gauge('workers', 'Workers that are alive, by whether they claim runs.', 'condition')
  const slots = gauge('worker_slots', 'Runs that the workers which claim may hold at once.')
  const busy = gauge('worker_slots_busy', 'Runs that workers hold.')
  const waiting = gauge('webhook_deliveries_waiting', 'Deliveries that are to be sent, or sent again.')
  const created = total('runs_created', 'Runs that were created.')
  const attempts = total('attempts', 'Attempts at runs that workers began.')
  const lost = total('attempts_lost', 'Attempts whose worker was lost.')
  const ended = total('runs_ended', 'Ends of runs, by state; a run that goes on ends again.', 'state')
  const delivered = total('webhook_deliveries', 'Deliveries that were received, or given up.', 'outcome')
  return (counts) => {
    for (const [state, count] of Object.entries(counts.open)) open.set({ state }, count)
    oldest.set(counts.oldest_seconds)
    for (const [condition, count] of Object.entries(counts.workers)) workers.set({ condition }, count)
    slots.set(counts.slots.all)
    busy.set(counts.slots.busy)
    waiting.set(counts.deliveries_waiting)
    // The database counts; what is kept here is its last word.
    for (const counter of [created, attempts, lost, ended, delivered]) counter.reset()
    created.inc(counts.created)
    attempts.inc(counts.attempts)
    lost.inc(counts.lost)
    for (const [state, count] of Object.entries(counts.ended)) ended.inc({ state }, count)
    delivered.inc({ outcome: 'delivered' }, counts.delivered)
    delivered.inc({ outcome: 'failed' }, counts.undelivered)
  }
}

function describePool(registry: Registry, connections: NonNullable<Store['connections']>): void {
  new Gauge({
    name: 'runyard_database_connections',
    help: 'Connections of this process to the database.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { busy, idle } = connections()
      this.set({ state: 'busy' }, busy)
      this.set({ state: 'idle' }, idle)
    },
  })
  new Gauge({
    name: 'runyard_database_waiting',
    help: 'Statements of this process that wait for a connection.',
    registers: [registry],
    collect() {
      this.set(connections().waiting)
    },
  })
}
