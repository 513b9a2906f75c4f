/** Somebody holds a run's row and stands still: its worker goes on, callers are served, and a lost worker's run moves on. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { type InnerCluster, startInnerCluster, until } from './support/cluster.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell } from './support/service.ts'
import { startSilentProxy } from './support/silent-proxy.ts'
import { assertWhole, inWorkspace, ofType } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'

describe("a run's row that is held", { skip }, () => {
  let database: Awaited<ReturnType<typeof createMigrated>>
  let cluster: InnerCluster
  before(async () => {
    database = await createMigrated()
    cluster = await startInnerCluster(database.url)
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  const gated = [shell('until [ -e attachments/go ]; do sleep 0.1; done'), shell('echo after')].join('\n')
  const start = async (pool: string): Promise<string> => {
    const run_id = await cluster.api.create({ prompt: gated, config: { worker_host: pool } })
    await cluster.api.until(run_id, ({ state }) => state === 'INPROGRESS')
    return run_id
  }
  const open = (run_id: string) => writeFileSync(inWorkspace(cluster.data_dir, run_id, 'attachments/go'), '')
  const cancel = async (run_id: string) => (await cluster.api.call('POST', `/agent/runs/${run_id}/cancel`)).ok

  test('by an API that is stopped in the middle of a transaction', async (t) => {
    const proxy = await startSilentProxy(database.url)
    t.after(() => proxy.close())
    const serve = await cluster.outerServe({ DATABASE_URL: proxy.url })
    const worker = await cluster.worker('stopped-api')
    const [working, unwanted] = await Promise.all([start('stopped-api'), start('stopped-api')])
    const accepting = (run_id: string) => new RegExp(`followup\\.accepted[^]*${run_id}`)
    /** Resolves when the API holds the row of the run and hears nothing. */
    const hold = (run_id: string, then: () => unknown) =>
      new Promise<void>((resolve) => {
        proxy.when(accepting(run_id), () => {
          resolve()
          return then()
        })
        const path = `/agent/runs/${run_id}/followups`
        serve.api.call('POST', path, { message: shell('echo more') }).catch(() => {})
      })
    await hold(working, () => 'silence')
    await hold(unwanted, () => serve.signal('SIGSTOP'))
    open(working)
    await until('the other run to be cancelled', () => cancel(unwanted))
    const run = await cluster.api.ended(working)
    assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 1])
    assertWhole(await cluster.api.events(working))
    serve.signal('SIGCONT')
    await worker.end()
  })

  test('by the session of a worker that is lost', async () => {
    const worker = await cluster.outerWorker('lost')
    const [taken_back, cancelled] = await Promise.all([start('lost'), start('lost')])
    // The server has not heard of its end and never will: no limit of its own ends this one.
    const session = new pg.Client({
      connectionString: database.url,
      application_name: `runyard-worker ${worker.worker_id()}`,
    })
    session.on('error', () => {})
    await session.connect()
    await session.query('begin')
    await session.query('select 1 from runs for update')
    await worker.end('SIGKILL')
    open(taken_back)
    await until('the run to be cancelled', () => cancel(cancelled))
    const next = await cluster.worker('lost')
    const run = await cluster.api.ended(taken_back)
    assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2])
    assert.equal(ofType(await cluster.api.events(taken_back), 'attempt.lost').length, 1)
    await next.end()
  })
})
