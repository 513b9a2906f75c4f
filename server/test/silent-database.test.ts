/** The way to the database falls silent: nothing is refused, nothing answers. Everybody notices in time, and comes back. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { type Cluster, type ServeRole, startCluster, until, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell, spawnRunyard } from './support/service.ts'
import { type SilentProxy, startSilentProxy } from './support/silent-proxy.ts'
import { assertWhole, inWorkspace, ofType } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const POOL = 'silent'

describe('a database that falls silent', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  let proxy: SilentProxy
  let serve: ServeRole
  let worker: WorkerRole
  before(async () => {
    database = await createDatabase()
    cluster = await startCluster(database.url)
    proxy = await startSilentProxy(database.url)
    const env = { DATABASE_URL: proxy.url, RUNYARD_SLOTS: '4' }
    serve = await cluster.serve(env)
    worker = await cluster.worker(POOL, env)
  })
  after(async () => {
    proxy?.heal()
    await cluster?.stop()
    proxy?.close()
    await database?.drop()
    await stopTestServer()
  })

  const create = (prompt: string) => serve.api.create({ prompt, config: { worker_host: POOL } })
  const statusOf = async (path: string) => (await fetch(new URL(path, serve.base_url))).status

  test('requests and readiness are answered, and after healing everything goes on', async () => {
    const gate = (name: string) => shell(`until [ -e attachments/${name} ]; do sleep 0.1; done`)
    const run_id = await create([gate('go'), shell('echo after')].join('\n'))
    await until('the run to be at work', async () => (await serve.api.get(run_id)).state === 'INPROGRESS')
    // So that the pool holds several connections, all of which fall silent.
    await Promise.all(Array.from({ length: 20 }, () => serve.api.get(run_id)))
    proxy.silence()
    const [answer, ready] = await Promise.all([
      serve.api.call('GET', `/agent/runs/${run_id}`),
      statusOf('/readyz'),
    ])
    assert.equal(answer.status, 503)
    assert.equal(((await answer.json()) as { error_code: string }).error_code, 'resource_unavailable')
    assert.equal(ready, 503)
    proxy.heal()
    await until(
      'the API to answer',
      async () => (await serve.api.call('GET', `/agent/runs/${run_id}`)).ok,
      40,
    )
    const next = await create(shell('echo again'))
    assert.equal((await serve.api.ended(next, 40)).state, 'SUCCEEDED')
    await until('the worker to be back', () => {
      const file = inWorkspace(cluster.data_dir, run_id, 'attachments/go')
      if (existsSync(file.replace(/\/go$/, ''))) writeFileSync(file, '')
      return existsSync(file)
    })
    const run = await serve.api.ended(run_id, 40)
    assert.equal(run.state, 'SUCCEEDED')
    const events = await serve.api.events(run_id)
    assertWhole(events)
    assert.equal(ofType(events, 'run.state').at(-1)?.data.state, 'SUCCEEDED')
  })

  /** Has told a process that starts that it is in order, and then says nothing any more. */
  const startSilencing = async (): Promise<SilentProxy> => {
    const own = await startSilentProxy(database.url)
    own.when(/from installation/, () => own.silence())
    return own
  }

  describe('at the start of a process', { concurrency: true }, () => {
    test('`worker` waits for it', async (t) => {
      const own = await startSilencing()
      t.after(() => own.close())
      const late = spawnRunyard(['worker', '--pool', 'late', '--sandbox', 'bubblewrap'], {
        DATABASE_URL: own.url,
        RUNYARD_DATA_DIR: cluster.data_dir,
        RUNYARD_ALLOW_WEAK_LIMITS: '1',
      })
      const ended = new Promise<number | null>((resolve) => late.once('exit', resolve))
      const printed = (line: RegExp) =>
        until(`${line} in ${late.log()}`, () => {
          assert.equal(late.exitCode, null, late.log())
          return line.test(late.log())
        })
      await printed(/^Waiting: PostgreSQL at \S+ does not answer/m)
      own.heal()
      await printed(/^Working for the pool late/m)
      late.kill('SIGTERM')
      assert.equal(await ended, 0, late.log())
    })

    test('`serve` listens, and is ready when it is back', async (t) => {
      const own = await startSilencing()
      t.after(() => own.close())
      const late = await cluster.serve({ DATABASE_URL: own.url })
      const ready = async () => (await fetch(new URL('/readyz', late.base_url))).status
      assert.equal(await ready(), 503)
      own.heal()
      await until('readiness', async () => (await ready()) === 200)
      await late.end('SIGTERM')
    })
  })

  test('SIGTERM ends a worker with a run at work, and the API, while it is silent', async () => {
    const run_id = await create(shell('sleep 600'))
    await until('the run to be at work', async () => (await serve.api.get(run_id)).state === 'INPROGRESS')
    proxy.silence()
    await worker.end('SIGTERM')
    await serve.end('SIGTERM')
  })
})
