/** The database goes away under runs: none is lost, and no step is started twice. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Cluster, startCluster, until } from './support/cluster.ts'
import { startCuttingProxy } from './support/cutting-proxy.ts'
import { LONG, onlyLong } from './support/once.ts'
import { findPostgres, type PostgresServer, startPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { assertWhole, inWorkspace, ofType, printed } from './support/traces.ts'

const skip = findPostgres() ? false : 'PostgreSQL is not installed'
const OUTAGE_MS = 5_000

describe('an outage of the database', { skip }, () => {
  let server: PostgresServer
  let cluster: Cluster
  before(async () => {
    server = await startPostgres()
    cluster = await startCluster(server.url)
  })
  after(async () => {
    await cluster?.stop()
    await server?.stop()
  })

  /** Every run went from its one attempt to its end, each step begun once. */
  async function assertUndisturbed(run_ids: readonly string[], output: string, steps: number): Promise<void> {
    for (const run_id of run_ids) {
      const run = await cluster.api.ended(run_id)
      const events = await cluster.api.events(run_id)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 1])
      assertWhole(events)
      assert.equal(ofType(events, 'tool.call').length, steps)
      assert.equal(printed(events), output)
    }
  }

  test('any answer may be lost: what was said is said again and counts once', async (t) => {
    const proxy = await startCuttingProxy(server.url, [
      /from claim\(/,
      /from runs r join principals c/,
      /insert into sandboxes/,
      /'INPROGRESS' as next_state/,
      /as later_bytes/,
      /"tool\.call"/,
      /"tool\.output"/,
      /"tool\.result"/,
      /select undelivered/,
      /insert into artifacts/,
      /Q.{4}commit/s,
      /SUCCEEDED/,
      /set worker_id = null/,
    ])
    t.after(() => proxy.close())
    const prompt = [
      'until [ -e attachments/go ]; do sleep 0.1; done; echo one',
      'echo two > artifacts/two; cat artifacts/two',
    ]
    const run_id = await cluster.api.create({
      prompt: prompt.map(shell).join('\n'),
      config: { worker_host: 'cut' },
    })
    // Only now: the first claim is the one that takes the run and is not heard of.
    const worker = await cluster.worker('cut', { DATABASE_URL: proxy.url })
    await until('the first step', async () => (await cluster.api.get(run_id)).state === 'INPROGRESS')
    await cluster.api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('echo three') })
    writeFileSync(inWorkspace(cluster.data_dir, run_id, 'attachments/go'), '')
    await assertUndisturbed([run_id], 'one\ntwo\nthree\n', 3)
    const events = await cluster.api.events(run_id)
    assert.equal(ofType(events, 'message.user').length, 2)
    assert.equal(ofType(events, 'artifact.created').length, 1)
    assert.deepEqual(proxy.left(), [])
    await worker.end('SIGTERM')
  })

  // Its commits are cut in the test above, once each.
  onlyLong('a log is complete though connections are torn while it is written', async () => {
    const worker = await cluster.worker('torn')
    const lines = (name: string) => `for i in $(seq 3000); do echo ${name} $i; done`
    const slow = (name: string) => `for i in $(seq 40); do echo ${name} $i; sleep 0.05; done`
    const outputOf = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${name} ${index + 1}\n`).join('')
    const steps = [slow('a'), lines('b'), slow('c'), lines('d')]
    const run_ids = await Promise.all(
      Array.from({ length: 4 }, () =>
        cluster.api.create({ prompt: steps.map(shell).join('\n'), config: { worker_host: 'torn' } }),
      ),
    )
    let torn = 0
    await until('the runs to end', async () => {
      const killed = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'runyard-worker%'`.execute(
        cluster.store.db,
      )
      torn += killed.rows.length
      const runs = await Promise.all(run_ids.map((run_id) => cluster.api.get(run_id)))
      return runs.every(
        (run) => run.state !== 'QUEUED' && run.state !== 'CLAIMED' && run.state !== 'INPROGRESS',
      )
    })
    assert(torn > 20)
    const output = outputOf('a', 40) + outputOf('b', 3000) + outputOf('c', 40) + outputOf('d', 3000)
    await assertUndisturbed(run_ids, output, 4)
    await worker.end('SIGTERM')
  })

  const kinds = LONG ? (['stands still', 'crashes'] as const) : (['stands still'] as const)
  for (const kind of kinds) {
    test(`the server ${kind} for a while under runs at work, waiting and ending`, async () => {
      const pool = kind.replace(' ', '-')
      const worker = await cluster.worker(pool, { RUNYARD_SLOTS: LONG ? '4' : '2' })
      const steps = ['echo one', 'for i in 1 2 3; do echo $i; sleep 0.5; done', 'echo two']
      const prompt = steps.map(shell).join('\n')
      const run_ids = await Promise.all(
        Array.from({ length: LONG ? 12 : 6 }, () =>
          cluster.api.create({ prompt, config: { worker_host: pool } }),
        ),
      )
      await until('some to have ended and some to wait', async () => {
        const runs = await Promise.all(run_ids.map((run_id) => cluster.api.get(run_id)))
        return (['SUCCEEDED', 'INPROGRESS', 'QUEUED'] as const).every((state) =>
          runs.some((run) => run.state === state),
        )
      })
      if (kind === 'crashes') await server.crash()
      else server.freeze()
      await wait(OUTAGE_MS)
      if (kind === 'crashes') await server.revive()
      else server.thaw()
      await until('the API to answer', () => cluster.api.get(run_ids[0] ?? '').catch(() => null))
      await assertUndisturbed(run_ids, 'one\n1\n2\n3\ntwo\n', 3)
      assert.doesNotMatch(worker.log(), /lost its leases/)
      await worker.end('SIGTERM')
    })
  }
})
