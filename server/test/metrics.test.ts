/** What Prometheus reads. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { migrateDatabase, readConfig, startServe } from '../src/main.ts'
import { openApp } from './support/app.ts'
import { until } from './support/cluster.ts'
import { NOBODY } from './support/each-service.ts'
import { parseExposition } from './support/exposition.ts'
import { onFace } from './support/face.ts'
import { onlyLong } from './support/once.ts'
import { findPostgres, startPostgres } from './support/postgres-server.ts'
import { apiOf, shell, startDevProcess, temporaryDirectory } from './support/service.ts'

const addressOf = (base_url: string): URL => new URL('/metrics', base_url)

onFace('metrics', (service) => {
  const ask = (authorization?: string) =>
    service().fetch(addressOf(service().base_url), { headers: authorization ? { authorization } : {} })
  const text = async () => {
    const answer = await ask(`Bearer ${service().keys.viewer}`)
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
    return answer.text()
  }
  const read = async () => parseExposition(await text())
  const value = async (name: string) => (await read()).get(name) ?? 0

  test('they are for whoever has a key, and for nobody else', async () => {
    assert.equal((await ask()).status, 401)
    assert.equal((await ask('Bearer ry_wrong')).status, 401)
    assert.equal((await ask(`Bearer ${service().keys.viewer}`)).status, 200)
  })

  test('a run is counted as it is created, waits, is taken and ends', async () => {
    const { keys, other, store, worker } = service()
    // What a process has read of the database is good to it for some seconds: each of these is another.
    const readAnew = async () => {
      const app = openApp(store)
      const headers = { authorization: `Bearer ${keys.viewer}` }
      const { body } = await app.inject({ url: '/metrics', headers })
      await app.close()
      return parseExposition(body)
    }
    const countsOf = (samples: Map<string, number>) =>
      [
        'runyard_runs_created_total',
        'runyard_attempts_total',
        'runyard_runs_ended_total{state="SUCCEEDED"}',
        'runyard_runs_ended_total{state="CANCELLED"}',
        'runyard_runs{state="QUEUED"}',
      ].map((name) => samples.get(name) ?? assert.fail(name))
    const before = countsOf(await readAnew())
    const waiting = await other.create({ prompt: 'x', config: { worker_host: NOBODY } })
    await worker.run(await other.create({ prompt: 'x', config: { worker_host: worker.pool } }))
    const since = (samples: Map<string, number>) =>
      countsOf(samples).map((count, at) => count - (before[at] ?? 0))
    const samples = await readAnew()
    assert.deepEqual(since(samples), [2, 1, 1, 0, 1])
    assert((samples.get('runyard_queue_oldest_seconds') ?? 0) > 0)
    assert((samples.get('runyard_worker_slots') ?? 0) > 0)
    assert.equal(samples.get('runyard_workers{condition="ready"}'), 1)
    await other.json('POST', `/agent/runs/${waiting}/cancel`, {})
    assert.deepEqual(since(await readAnew()), [2, 1, 1, 1, 0])
  })

  test('requests are counted by route and status, streams while they are open', async () => {
    const { other, base_url, fetch, keys } = service()
    const name = 'runyard_http_requests_total{method="GET",route="/api/v1/agent/models",status="200"}'
    const before = await value(name)
    await other.json('GET', '/agent/models')
    assert.equal(await value(name), before + 1)
    const timed = 'runyard_http_request_duration_seconds_count{method="GET",route="/api/v1/agent/models"}'
    assert((await value(timed)) >= 1)
    assert.equal((await fetch(new URL('/one/path/of/mine', base_url))).status, 404)
    const run_id = await other.create({ prompt: 'x', config: { worker_host: NOBODY } })
    const closing = new AbortController()
    const stream = await fetch(`${base_url}/agent/runs/${run_id}/events?follow=true`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${keys.other}` },
      signal: closing.signal,
    })
    assert.equal(stream.status, 200)
    assert.equal(await value('runyard_streams_open'), 1)
    closing.abort()
    await until('the stream to be closed', async () => (await value('runyard_streams_open')) === 0)
  })

  test('they hold numbers, and of texts those of the program', async () => {
    const { other } = service()
    const config = { worker_host: NOBODY, name: 'name-of-mine', model_id: 'model-of/mine' }
    const run_id = await other.create({ prompt: 'Prompt of mine.', title: 'Title of mine', config })
    await other.call('GET', `/agent/runs/${run_id}?query=of-mine`)
    await other.call('GET', '/agent/nothing-of-mine')
    const said = await text()
    assert.doesNotMatch(said, /of.mine/i)
    assert.doesNotMatch(
      said,
      /^nodejs_eventloop_lag_\w+ (Nan|9\.?\d{10,})/im,
      'What is not measured yet is no number.',
    )
    assert(!said.includes(run_id) && !said.includes(NOBODY))
    for (const name of [
      'nodejs_eventloop_lag_seconds',
      'process_resident_memory_bytes',
      'runyard_info{version=',
    ])
      assert(said.includes(`\n${name}`), name)
  })
})

// As after any restart, they begin with 0.
onlyLong(
  'totals hold no runs that never were, after the database was killed',
  { timeout: 300_000 },
  async () => {
    let service = await startDevProcess()
    const total = async () => {
      const headers = { authorization: `Bearer ${service.api_key}` }
      const samples = parseExposition(await (await fetch(addressOf(service.base_url), { headers })).text())
      return ['runs_created_total', 'attempts_total', 'runs_ended_total{state="SUCCEEDED"}'].map(
        (name) => samples.get(`runyard_${name}`) ?? assert.fail(name),
      )
    }
    try {
      await apiOf(service).ended(await apiOf(service).create({ prompt: shell('true') }))
      assert.deepEqual(await total(), [1, 1, 1])
      await service.kill('SIGKILL')
      service = await startDevProcess({ data_dir: service.data_dir })
      // What they begin with again is 0, as after any restart that readers of totals know.
      assert.deepEqual(await total(), [0, 0, 0])
      await apiOf(service).create({ prompt: 'x', config: { worker_host: NOBODY } })
      await until('a run to be counted', async () => (await total())[0] === 1, 30)
    } finally {
      await service.stop()
    }
  },
)

describe('metrics without a database', () => {
  const token = 'a-token-of-the-operator'
  let serve: Awaited<ReturnType<typeof startServe>> | undefined
  after(() => serve?.stop())

  test('the token of the operator opens them while the database is away', async () => {
    const config = readConfig({
      ...{ DATABASE_URL: 'postgres://127.0.0.1:1/none', RUNYARD_DATA_DIR: temporaryDirectory('metrics') },
      ...{ RUNYARD_PORT: '0', RUNYARD_LOG_LEVEL: 'silent', RUNYARD_METRICS_TOKEN: token },
    })
    serve = await startServe({ config })
    const ask = (given: string) =>
      fetch(addressOf(serve?.base_url ?? ''), { headers: { authorization: `Bearer ${given}` } })
    assert.equal((await ask(`${token}x`)).status, 401)
    const answer = await ask(token)
    assert.equal(answer.status, 200)
    const samples = parseExposition(await answer.text())
    assert.equal(samples.get('runyard_database_up'), 0)
    assert.equal(samples.get('runyard_database_connections{state="idle"}'), 0)
  })

  const skip = findPostgres() ? false : 'PostgreSQL is not installed'
  // That a service is ready again, silent-database.test.ts shows.
  onlyLong('one that did not answer is up again soon after it does', { skip, timeout: 300_000 }, async () => {
    const server = await startPostgres()
    const config = readConfig({
      ...{ DATABASE_URL: server.url, RUNYARD_DATA_DIR: temporaryDirectory('metrics') },
      ...{ RUNYARD_PORT: '0', RUNYARD_LOG_LEVEL: 'silent', RUNYARD_METRICS_TOKEN: token },
    })
    await migrateDatabase({ config })
    const own = await startServe({ config })
    const headers = { authorization: `Bearer ${token}` }
    const isUp = async () => {
      const answer = await fetch(addressOf(own.base_url), { headers })
      return parseExposition(await answer.text()).get('runyard_database_up')
    }
    try {
      assert.equal(await isUp(), 1)
      server.freeze()
      await until('the database to be away', async () => (await isUp()) === 0, 60)
      server.thaw()
      await until('the database to be there', async () => (await isUp()) === 1, 30)
    } finally {
      server.thaw()
      await own.stop()
      await server.stop()
    }
  })

  test('a short one is none', () => {
    assert.throws(() => readConfig({ RUNYARD_METRICS_TOKEN: 'short' }), /RUNYARD_METRICS_TOKEN: must have 16/)
  })
})
