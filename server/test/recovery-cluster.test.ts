/** Workers of a cluster killed, stopped and sent home: their runs go on elsewhere, once. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Cluster, startCluster, until, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { onlyLong } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { STALLABLE, stall } from './support/stall.ts'
import {
  assertWhole,
  findProcesses,
  findWarden,
  inWorkspace,
  modifiedInWorkspace,
  ofType,
  printed,
  sizeInWorkspace,
  workersOf,
} from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

for (const over_https of [false, true])
  describe(over_https ? 'a cluster whose workers only dial out' : 'a cluster', { skip }, () => {
    let database: Awaited<ReturnType<typeof createDatabase>>
    let cluster: Cluster
    let markers = 0
    /** Unique among the arguments of all processes of the machine. */
    const newMarker = () => `${600 + markers++}${Date.now()}`

    before(async () => {
      database = await createDatabase()
      cluster = await startCluster(database.url, {}, { over_https })
    })
    after(async () => {
      await cluster?.stop()
      await database?.drop()
      await stopTestServer()
    })

    /** Those of the pool that the tests share, since to start one costs two seconds: each test finds what the one before left. */
    let shared: WorkerRole[] = []
    const SHARED = 'shared'
    async function workersAlive(count: number): Promise<WorkerRole[]> {
      shared = shared.filter(({ pid }) => isAlive(pid))
      while (shared.length > count) await shared.pop()?.end('SIGTERM')
      const missing = Array.from({ length: count - shared.length }, () => cluster.worker(SHARED, STALLABLE))
      shared.push(...(await Promise.all(missing)))
      return shared
    }

    /** Two workers, a run held in its second step by one of them. */
    async function holdRun(pool = SHARED) {
      const workers =
        pool === SHARED
          ? await workersAlive(2)
          : await Promise.all([cluster.worker(pool), cluster.worker(pool)])
      const marker = newMarker()
      const steps = [
        'echo one >> done',
        `echo two >> done; if [ -e waited ]; then cat done; else touch waited; sleep ${marker}; fi`,
        'echo three',
      ]
      const prompt = steps.map(shell).join('\n')
      const run_id = await cluster.api.create({ prompt, config: { worker_host: pool } })
      await until('the second step', () => findProcesses(marker).length > 0)
      const [worker_id] = workersOf(await cluster.api.events(run_id))
      const holder = workers.find((worker) => worker.worker_id() === worker_id)
      const other = workers.find((worker) => worker !== holder)
      assert(holder && other)
      return { run_id, marker, holder, other }
    }

    async function assertTakenOver(run_id: string, other: WorkerRole): Promise<void> {
      const run = await cluster.api.ended(run_id)
      const events = await cluster.api.events(run_id)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2])
      assertWhole(events)
      assert.equal(workersOf(events)[1], other.worker_id())
      // The first step once, the one cut off twice.
      assert.equal(printed(events), 'one\ntwo\ntwo\nthree\n')
    }

    test('takes the run of a killed worker over', async () => {
      const { run_id, marker, holder, other } = await holdRun()
      await holder.end('SIGKILL')
      await until('the sandbox to die', () => findProcesses(marker).length === 0)
      await assertTakenOver(run_id, other)
      assert.equal(ofType(await cluster.api.events(run_id), 'attempt.lost').length, 1)
    })

    /** A worker executes a run and is stopped, another takes the run over, the first goes on: nobody executes beside another. */
    async function testStopped(stop: (holder: WorkerRole) => Promise<() => void>): Promise<void> {
      const workers = await workersAlive(2)
      const pool = SHARED
      // It prints too, so that the worker has something to write when it awakes.
      const tick = 'while :; do printf . | tee -a ticks; sleep 0.1; done'
      const run_id = await cluster.api.create({
        prompt: shell(`if [ -e ticks ]; then echo taken over; else ${tick}; fi`),
        config: { worker_host: pool },
      })
      await until('the step', async () => printed(await cluster.api.events(run_id)) !== '')
      const [first_life] = workersOf(await cluster.api.events(run_id))
      const holder = workers.find((worker) => worker.worker_id() === first_life)
      const other = workers.find((worker) => worker !== holder)
      assert(holder && other && first_life)

      const goOn = await stop(holder)
      const run = await cluster.api.ended(run_id).catch((error) => {
        goOn()
        throw error
      })
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2])
      const before = await cluster.api.events(run_id)
      // Whether it was frozen before the loss depends on how busy the machine is; that it was over before its successor
      // began must not. The log and the file have the time of one machine.
      const last_tick = modifiedInWorkspace(cluster.data_dir, run_id, 'ticks')
      const [, successor] = ofType(before, 'tool.call')
      assert(successor && last_tick < Date.parse(successor.occurred_at), 'Two attempts were at work at once.')
      assert.equal(ofType(before, 'attempt.lost').length, 1)

      goOn()
      const second_life = await until(
        'a new life',
        () => holder.worker_id() !== first_life && holder.worker_id(),
      )
      const events = await cluster.api.events(run_id)
      assert.equal(events.length, before.length)
      assert.equal(modifiedInWorkspace(cluster.data_dir, run_id, 'ticks'), last_tick)
      assertWhole(events)
      assert.deepEqual(workersOf(events), [first_life, other.worker_id()])
      assert.match(printed(events), /^\.+taken over\n$/)

      await other.end('SIGTERM')
      const next = await cluster.api.create({ prompt: shell('echo back'), config: { worker_host: pool } })
      assert.equal((await cluster.api.ended(next)).state, 'SUCCEEDED')
      assert.deepEqual(workersOf(await cluster.api.events(next)), [second_life])
    }

    test('freezes what a stopped worker left, takes its run over and hears nothing more of it', () =>
      testStopped(async (holder) => {
        holder.signal('SIGSTOP')
        return () => holder.signal('SIGCONT')
      }))

    // To the others it is as one that is stopped.
    onlyLong('takes the run of a worker over whose event loop stands still', () => testStopped(stall))

    // As after a pause.
    onlyLong('lets a run go on after a short standstill', async () => {
      const pool = 'still-for-a-moment'
      const worker = await cluster.worker(pool, STALLABLE)
      const run_id = await cluster.api.create({
        prompt: shell('until [ -e go ]; do sleep 0.1; done; echo done'),
        config: { worker_host: pool },
      })
      await until('the step', async () => (await cluster.api.get(run_id)).state === 'INPROGRESS')
      const goOn = await stall(worker)
      await wait(3_000)
      goOn()
      writeFileSync(inWorkspace(cluster.data_dir, run_id, 'go'), '')
      const run = await cluster.api.ended(run_id)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 1])
      assertWhole(await cluster.api.events(run_id))
    })

    test('lets a run go on after a pause that nobody took for a loss', async () => {
      const pool = SHARED
      const [worker] = await workersAlive(1)
      assert(worker)
      /** Stops the worker until its warden has frozen the step, and lets it go on. */
      const runWithPause = async () => {
        const run_id = await cluster.api.create({
          prompt: shell('for i in $(seq 40); do printf . >> ticks; sleep 0.2; done; wc -c < ticks'),
          config: { worker_host: pool },
        })
        const ticks = () => sizeInWorkspace(cluster.data_dir, run_id, 'ticks')
        await until('the step', () => ticks() > 0)
        worker.signal('SIGSTOP')
        let seen = { ticks: 0, at: 0 }
        await until('the freeze', () => {
          if (ticks() !== seen.ticks) seen = { ticks: ticks(), at: performance.now() }
          return performance.now() - seen.at > 400
        })
        worker.signal('SIGCONT')
        const run = await cluster.api.ended(run_id)
        return { run, events: await cluster.api.events(run_id) }
      }
      let { run, events } = await runWithPause()
      // A busy machine may take the pause for a loss after all, which is another test's business.
      for (let tries = 1; run.attempt > 1 && tries < 4; tries += 1) ({ run, events } = await runWithPause())
      assert.deepEqual([run.state, run.attempt, printed(events)], ['SUCCEEDED', 1, '40\n'])
      assertWhole(events)
    })

    test('is left by a worker in order: its run is handed back at a step boundary and counts no loss', async () => {
      const pool = SHARED
      const workers = await workersAlive(2)
      const marker = newMarker()
      const untilThere = (file: string) => `until [ -e ${file} ]; do sleep 0.1; done # ${marker}`
      const steps = [`echo one; ${untilThere('go')}`, `echo two; ${untilThere('counted')}`]
      const run_id = await cluster.api.create({
        prompt: steps.map(shell).join('\n'),
        config: { worker_host: pool },
      })
      const events = () => cluster.api.events(run_id)
      await until('the first step', async () => printed(await events()) === 'one\n')
      const [holder_id] = workersOf(await events())
      const holder = workers.find((worker) => worker.worker_id() === holder_id)
      const other = workers.find((worker) => worker !== holder)
      assert(holder && other)
      const gone = holder.end('SIGTERM')
      await cluster.api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('echo three') })
      writeFileSync(inWorkspace(cluster.data_dir, run_id, 'go'), '')
      await gone
      // A loss would be forgiven with the step.
      await until('the second step', async () => printed(await events()) === 'one\ntwo\n')
      assert.equal(await lostAttempts(run_id), 0)
      writeFileSync(inWorkspace(cluster.data_dir, run_id, 'counted'), '')
      const run = await cluster.api.ended(run_id)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2])
      assertWhole(await events())
      assert.equal(printed(await events()), 'one\ntwo\nthree\n')
      assert.deepEqual(workersOf(await events()), [holder_id, other.worker_id()])
      assert.equal(ofType(await events(), 'attempt.lost').length, 0)
    })

    // That stopping.test.ts shows of a service with an embedded database.
    onlyLong(
      'is left by a worker whose run takes longer than the grace: cut off, handed back, no loss',
      async () => {
        const pool = 'grace'
        const env = { RUNYARD_GRACE_SECONDS: '1' }
        const workers = await Promise.all([cluster.worker(pool, env), cluster.worker(pool, env)])
        const marker = newMarker()
        const run_id = await cluster.api.create({
          prompt: shell(`if [ -e waited ]; then echo again; else touch waited; sleep ${marker}; fi`),
          config: { worker_host: pool },
        })
        await until('the step', () => findProcesses(marker).length > 0)
        const [holder_id] = workersOf(await cluster.api.events(run_id))
        await workers.find((worker) => worker.worker_id() === holder_id)?.end('SIGTERM')
        assert.deepEqual(findProcesses(marker), [])
        const run = await cluster.api.ended(run_id)
        const events = await cluster.api.events(run_id)
        assert.deepEqual([run.state, run.attempt, printed(events)], ['SUCCEEDED', 2, 'again\n'])
        assert.equal(ofType(events, 'attempt.lost').length, 0)
        assertWhole(events)
      },
    )

    test('ends a run that takes its workers along, five in a row', async () => {
      const pool = SHARED
      await workersAlive(1)
      const marker = newMarker()
      const prompt = [shell('echo fine'), shell(`echo in; sleep ${marker}`)].join('\n')
      const run_id = await cluster.api.create({ prompt, config: { worker_host: pool } })
      for (let attempt = 1; attempt <= 5; attempt++) {
        await until(`attempt ${attempt} to be in the step`, async () => {
          const run = await cluster.api.get(run_id)
          return run.attempt === attempt && run.state === 'INPROGRESS' && findProcesses(marker).length > 0
        })
        // As if it had stopped beating: that this is noticed is another test.
        await sql`update workers set lost = true where pool = ${pool} and not lost`.execute(cluster.store.db)
        await until('the sandbox to die', () => findProcesses(marker).length === 0)
      }
      const run = await cluster.api.ended(run_id)
      assert.deepEqual([run.state, run.attempt], ['ERROR', 5])
      assert.equal(run.status_message?.error_code, 'resource_unavailable')
      const events = await cluster.api.events(run_id)
      assertWhole(events)
      assert.equal(new Set(workersOf(events)).size, 5)
      assert.equal(printed(events).match(/fine/g)?.length, 1)
    })

    test('cancels a run whose worker is dead, at once and for good, and one that was queued again after that', async () => {
      const pool = SHARED
      const [worker] = await workersAlive(1)
      assert(worker)
      const marker = newMarker()
      const hold = () =>
        cluster.api.create({ prompt: shell(`echo first; sleep ${marker}`), config: { worker_host: pool } })
      const [run_id, queued] = [await hold(), await hold()]
      await until('both steps', () => findProcesses(marker).length >= 2)
      await worker.end('SIGKILL')
      await cluster.api.json('POST', `/agent/runs/${run_id}/cancel`)
      assert.equal((await cluster.api.get(run_id)).state, 'CANCELLED')
      // A follow-up waits until the dead worker has let go, and is then answered by another.
      await cluster.api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('echo second') })
      await until(
        'the other to be queued again',
        async () => (await cluster.api.get(queued)).state === 'QUEUED',
      )
      await cluster.api.json('POST', `/agent/runs/${queued}/cancel`)
      await workersAlive(1)
      const run = await cluster.api.ended(run_id)
      const events = await cluster.api.events(run_id)
      assert.deepEqual([run.state, run.attempt, run.execution], ['SUCCEEDED', 2, 2])
      assert.match(printed(events), /^(first\n)?second\n$/)
      assertWhole(events)
      // It asked for work after the other was cancelled, and got it.
      const left = await cluster.api.get(queued)
      assert.deepEqual([left.state, left.attempt], ['CANCELLED', 1])
      assertWhole(await cluster.api.events(queued))
    })

    // That recovery-embedded.test.ts shows.
    onlyLong('is not harmed by the death of a warden', async () => {
      const { run_id, marker, holder, other } = await holdRun('unguarded')
      const before = holder.worker_id()
      process.kill(findWarden(holder.pid), 'SIGKILL')
      await until('the unguarded sandbox to die', () => findProcesses(marker).length === 0)
      const run = await cluster.api.ended(run_id)
      const events = await cluster.api.events(run_id)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2])
      assertWhole(events)
      const after = await until('a new life', () => holder.worker_id() !== before && holder.worker_id())
      assert([after, other.worker_id()].includes(workersOf(events)[1] ?? ''))
    })

    async function lostAttempts(run_id: string): Promise<number | undefined> {
      const found = await sql<{ lost_attempts: number }>`
      select lost_attempts from runs where run_id = ${run_id}`.execute(cluster.store.db)
      return found.rows[0]?.lost_attempts
    }
  })

function isAlive(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
