/**
 * Runs at work while workers are killed and sent home and an API stands still, by chance: none is lost, none is done twice, and
 * none is handed back whose own worker was well. `RUNYARD_FAULT_SEEDS=1-20` says which chances; each is one seed.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Cluster, startCluster, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { assertWhole, ofType, workersOf } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const [first = 1, last = first] = (process.env.RUNYARD_FAULT_SEEDS ?? '1-3').split('-').map(Number)
const POOL = 'faults'
const WORKERS = 3
const RUNS = 12
const FAULTS = 4
/** Longer than a lease: what hangs on the API must not hang so long. */
const STANDSTILL_MS = 9_000

/** Chance that comes again with its seed (mulberry32). */
function createChance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

describe('faults by chance', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  before(async () => {
    database = await createDatabase()
    cluster = await startCluster(database.url)
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  for (let seed = first; seed <= last; seed += 1)
    test(`seed ${seed}`, async () => {
      const chance = createChance(seed)
      const victim = await cluster.serve()
      const workers = await Promise.all(Array.from({ length: WORKERS }, () => cluster.worker(POOL)))
      const killed = new Set<string>()
      const prompt = ['a', 'b', 'c', 'd'].map((step) => shell(`echo ${step}; sleep 1`)).join('\n')
      // Half of them by the API that is going to stand still.
      const run_ids = await Promise.all(
        Array.from({ length: RUNS }, (_, n) =>
          (n % 2 ? victim : cluster).api.create({ prompt, config: { worker_host: POOL } }),
        ),
      )
      const replace = async (signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
        const [gone] = workers.splice(Math.floor(chance() * workers.length), 1) as [WorkerRole]
        if (signal === 'SIGKILL') killed.add(gone.worker_id())
        await gone.end(signal)
        workers.push(await cluster.worker(POOL))
      }
      const standing = (async () => {
        victim.signal('SIGSTOP')
        await wait(STANDSTILL_MS)
        victim.signal('SIGCONT')
      })()
      for (let n = 0; n < FAULTS; n += 1) {
        await wait(chance() * 2_000)
        await replace(chance() < 0.7 ? 'SIGKILL' : 'SIGTERM')
      }
      await standing
      for (const run_id of run_ids) {
        const run = await cluster.api.ended(run_id)
        const events = await cluster.api.events(run_id)
        assert.equal(run.state, 'SUCCEEDED', run_id)
        assertWhole(events)
        const results = ofType(events, 'tool.result').filter(({ data }) => data.exit_code === 0)
        assert.equal(results.length, 4, `${run_id}: each step ends well once`)
        const said = ofType(events, 'run.state').map(({ data }) => data.status_message?.message ?? '')
        assert.deepEqual(
          said.filter((message) => /could not be recorded/.test(message)),
          [],
          run_id,
        )
        const started = workersOf(events)
        for (const { data } of ofType(events, 'attempt.lost'))
          assert(
            killed.has(started[data.attempt - 1] ?? ''),
            `${run_id}: attempt ${data.attempt} was lost though well`,
          )
      }
      for (const role of [victim, ...workers]) await role.end('SIGTERM')
    })
})
